"""What a client is made with: its target, who may see what it sends, and how it shows who it is."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
import ssl
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import grpc

from . import _check
from .errors import BadReplyError, BadTargetError, InsecureError, TranscriptError, UnauthenticatedError, undone
from .retry import Retry

VERSION = version("transcriptd")

Token = str | Callable[[], str] | Callable[[], Awaitable[str]]

_WINDOW = 4 << 20  # the bytes of a reply that may be under way unread: what a reply has at most
_FILES_EVERY = 1.0  # the seconds after which files are looked at again


def channel_options(local: bool) -> list[tuple[str, Any]]:
    """The options of gRPC that clients make channels with: for who makes one for generated code. gRPC itself repeats no calls with them, and
    a connection that is dead is given up after 15 s."""
    return [
        ("grpc.primary_user_agent", f"transcriptd-python/{VERSION}"),
        ("grpc.service_config_disable_resolution", 1),  # a resolver's config could repeat what may not be
        ("grpc.keepalive_time_ms", 10_000),
        ("grpc.keepalive_timeout_ms", 5_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.min_reconnect_backoff_ms", 5_000),
        ("grpc.max_reconnect_backoff_ms", 1_000),
        ("grpc.http2.lookahead_bytes", _WINDOW),
        ("grpc.max_metadata_size", 1 << 20),  # the details of an error are metadata
        ("grpc.absolute_max_metadata_size", 1 << 20),
        ("grpc.use_local_subchannel_pool", 1),  # the connection is this channel's own
        ("grpc.enable_http_proxy", 0 if local else 1),  # what is for this machine does not leave it
    ]


def loopback(target: str) -> bool:
    """Whether a target is surely on this machine."""
    scheme, colon, rest = target.partition(":")
    if colon and scheme in ("unix", "unix-abstract"):
        return True
    if colon and scheme in ("dns", "passthrough", "ipv4", "ipv6"):
        target = rest.rsplit("/", 1)[-1]
    found = re.fullmatch(r"\[([^\[\]]*)\](?::\d*)?|([^:]*)(?::\d*)?", target)
    host = (found[1] or found[2] or "") if found else target
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _addressed(target: str) -> bool:
    """Whether a target names its port, where it is a host: gRPC would take 443."""
    address = re.sub(r"^dns:(//[^/]*/)?", "", target)
    by_scheme = "/" in address or re.match(r"(unix|unix-abstract|ipv4|ipv6|vsock):", address)
    return bool(by_scheme or re.fullmatch(r"(\[[^\[\]]+\]|[^:]+):\d+", address))


def _target(target: Any) -> str:
    if not isinstance(target, str):
        raise TypeError(f"target must be a str such as '127.0.0.1:7420', not {type(target).__name__}")
    if not target or any(c.isspace() or not c.isprintable() for c in target):
        raise BadTargetError("the target must be an address such as '127.0.0.1:7420' or 'unix:///run/transcriptd.sock', without blanks")
    if re.match(r"https?:", target):
        raise BadTargetError("the target is an address of gRPC, HOST:PORT, and no URL: leave out http:// or https://, and give ca for TLS")
    if not _addressed(target):
        raise BadTargetError("the target must be HOST:PORT, such as '127.0.0.1:7420', or 'unix:///PATH'")
    return target


@dataclass(frozen=True)
class Files:
    """Those that TLS goes by, in PEM: `ca` has whom to trust, else whom the system trusts; `certificate` and `key` are the client's."""

    ca: str | os.PathLike[str] | None = None
    certificate: str | os.PathLike[str] | None = None
    key: str | os.PathLike[str] | None = None

    def credentials(self) -> tuple[grpc.ChannelCredentials, tuple[bytes | None, ...]]:
        """Credentials by the files as they are now, and what is in them. BadTargetError: they cannot be used."""
        try:
            content = tuple(None if name is None else Path(name).read_bytes() for name in (self.ca, self.certificate, self.key))
            context = ssl.create_default_context(cafile=self.ca)
            if self.certificate is not None:
                context.load_cert_chain(self.certificate, self.key, password=lambda: "")
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            raise BadTargetError(f"the files of ca and client_certificate must be readable and in PEM: {error}") from error
        roots = content[0] or "".join(map(ssl.DER_cert_to_PEM_cert, context.get_ca_certs(binary_form=True))).encode() or None
        return grpc.ssl_channel_credentials(roots, content[2], content[1]), content


class TokenFile:
    """A file with a token. Looked at again once a second at most; while there is no token in it, the last one is given."""

    def __init__(self, name: str | os.PathLike[str]) -> None:
        self._name = os.fspath(name)
        self._lock = threading.Lock()
        self._last = ""
        self._looked = 0.0
        try:
            self._read()
        except (OSError, ValueError) as error:
            raise BadTargetError(f"token_file must have a token: {error}") from None

    def __call__(self) -> str:
        with self._lock:
            if time.monotonic() - self._looked >= _FILES_EVERY:
                with contextlib.suppress(OSError, ValueError):
                    self._read()
            return self._last

    def _read(self) -> None:
        self._looked = time.monotonic()
        self._last = checked_token(Path(self._name).read_text(encoding="utf-8").strip())


class NotATokenError(ValueError):
    """Something is no token. Tells nothing of it."""


def checked_token(token: Any) -> str:
    """A token as a header can have it. NotATokenError."""
    if not isinstance(token, str):
        raise NotATokenError(f"a token is a str, not {type(token).__name__}")
    if not token or any(not "!" <= c <= "~" for c in token):
        raise NotATokenError("a token is one word of ASCII letters, digits and signs, and not empty")
    return token


def no_token(error: Exception) -> TranscriptError:
    """The error of a call that was not sent since there was no token to show."""
    what = str(error) if isinstance(error, NotATokenError) else type(error).__name__
    failed = UnauthenticatedError(f"the call was not sent: token gave no token: {what}")
    failed.reason = ""
    failed.__cause__ = error
    return undone(failed)


@dataclass(frozen=True)
class Settings:
    """What a client was made with, checked."""

    target: str
    namespace: str
    deadline: float | None
    idle: float | None
    retry: Retry
    verify: bool
    deterministic: bool
    cache_bytes: int
    token: Callable[[], Any] | None
    files: Files | None
    given: grpc.ChannelCredentials | None
    insecure: bool
    local: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "local", loopback(self.target))

    def credentials(self) -> tuple[grpc.ChannelCredentials | None, tuple[bytes | None, ...]]:
        """What a channel is made with now, None for plain text, and the files' content. BadTargetError: the files cannot be used."""
        if self.given is not None:
            return self.given, ()
        if self.files is not None:
            return self.files.credentials()
        return None, ()

    def guarded(self) -> bool:
        """Whether gRPC must see to it that tokens go over TLS: the caller made the credentials."""
        return self.given is not None and not self.local


def settings(
    target: str,
    namespace: str,
    token: Token | None,
    token_file: str | os.PathLike[str] | None,
    ca: str | os.PathLike[str] | None,
    client_certificate: tuple[str | os.PathLike[str], str | os.PathLike[str]] | None,
    insecure: bool,
    credentials: grpc.ChannelCredentials | None,
    deadline: float | None,
    idle: float | None,
    retry: Retry | None,
    verify: bool,
    deterministic: bool,
    cache_bytes: int,
) -> Settings:
    """The arguments of a client, checked: InsecureError, BadTargetError, TypeError and ValueError name what is wrong with them."""
    if retry is not None and not isinstance(retry, Retry):
        raise TypeError(f"retry must be a transcriptd.Retry, not {type(retry).__name__}")
    if credentials is not None and not isinstance(credentials, grpc.ChannelCredentials):
        raise TypeError(f"credentials must be a grpc.ChannelCredentials, not {type(credentials).__name__}")
    made = Settings(
        target=_target(target),
        namespace=_check.text("namespace", namespace),
        deadline=_seconds("deadline", deadline),
        idle=_seconds("idle", idle),
        retry=retry or Retry(),
        verify=_check.flag("verify", verify),
        deterministic=_check.flag("deterministic", deterministic),
        cache_bytes=_check.number("cache_bytes", cache_bytes),
        token=_token(token, token_file),
        files=_files(ca, client_certificate),
        given=credentials,
        insecure=_check.flag("insecure", insecure),
    )
    if (made.files is not None) + (credentials is not None) + made.insecure > 1:
        raise BadTargetError("give one of ca with client_certificate, credentials, or insecure=True")
    if made.files is None and credentials is None and not insecure and not made.local:
        raise InsecureError("the target is not on this machine: give ca, client_certificate or credentials for TLS, or insecure=True")
    made.credentials()
    return made


def _seconds(name: str, value: Any) -> float | None:
    if value is None:
        return None
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number of seconds, or None for no bound, not {type(value).__name__}")
    if not 0 < value < float("inf"):
        raise ValueError(f"{name} must be more than 0 seconds, or None for no bound")
    return float(value)


def _token(token: Any, file: Any) -> Callable[[], Any] | None:
    if token is not None and file is not None:
        raise BadTargetError("give token or token_file, not both")
    if file is not None:
        return TokenFile(file)
    if token is None:
        return None
    if callable(token):
        return token  # type: ignore[no-any-return]
    try:
        checked = checked_token(token)
    except ValueError as error:
        raise BadTargetError(f"token cannot be used: {error}") from None
    return lambda: checked


def _files(ca: Any, pair: Any) -> Files | None:
    if ca is None and pair is None:
        return None
    if pair is None:
        return Files(ca)
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise TypeError("client_certificate must be a pair of files: (certificate, key)")
    return Files(ca, pair[0], pair[1])


class Reread:
    """Tells, once a second at most, whether the files that TLS goes by have changed, and then makes credentials of them."""

    def __init__(self, by: Settings) -> None:
        self._by = by
        self._looked = time.monotonic()
        self.credentials, self._content = by.credentials()

    def changed(self) -> bool:
        """Whether `credentials` are others now. While the files cannot be used, they stay."""
        now = time.monotonic()
        if self._by.files is None or now - self._looked < _FILES_EVERY:
            return False
        self._looked = now
        try:
            credentials, content = self._by.credentials()
        except BadTargetError:  # they are just being written, or are not there any more
            return False
        if content == self._content:
            return False
        self.credentials, self._content = credentials, content
        return True


def not_sent(error: grpc.RpcError) -> bool:
    """Whether gRPC tells of a call that it never sent: there was no connection. Only its words tell."""
    unsent = ("failed to connect to all addresses", "errors resolving ", "DNS resolution failed")
    return error.code() is grpc.StatusCode.UNAVAILABLE and (error.details() or "").startswith(unsent)


def received(reply: bytes | None) -> bytes:
    """The reply of a call that succeeded. gRPC gives None where the server, or a proxy, sent that it succeeded but no whole reply."""
    if reply is None:
        raise BadReplyError("the call succeeded, by its status, but has no reply")
    return reply
