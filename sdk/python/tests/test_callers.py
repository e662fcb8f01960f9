"""Who calls, and over what: tokens, TLS, and where transcripts may go in plain text."""

from __future__ import annotations

import asyncio
import pathlib
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import grpc
import pytest

import transcriptd
from between import Between
from daemon import Daemon, build
from transcriptd import AsyncClient, Client, connection


@pytest.mark.parametrize(
    ("target", "local"),
    [
        ("127.0.0.1:7420", True),
        ("127.8.0.1", True),
        ("localhost:7420", True),
        ("[::1]:7420", True),
        ("unix:///run/transcriptd.sock", True),
        ("unix:relative.sock", True),
        ("unix-abstract:name", True),
        ("dns:///127.0.0.1:7420", True),
        ("dns:localhost:1", True),
        ("ipv4:127.0.0.1:1", True),
        ("ipv6:[::1]:1", True),
        ("dns:///example.com:7420", False),
        ("example.com:7420", False),
        ("localhost.example.com:7420", False),
        ("10.0.0.1:7420", False),
        ("[::]:7420", False),
        ("0.0.0.0:7420", False),
        ("ipv4:127.0.0.1:1,10.0.0.1:1", False),
        ("127.0.0.1.example.com:1", False),
        ("::1", True),
    ],
)
def test_what_is_on_this_machine(target: str, local: bool) -> None:
    assert connection.loopback(target) == local


def test_nothing_goes_in_plain_text_to_another_machine_unasked() -> None:
    with pytest.raises(transcriptd.InsecureError, match="ca, client_certificate or credentials"):
        Client("example.com:7420", token="secret")
    Client("example.com:7420", insecure=True).close()
    Client("example.com:7420", credentials=grpc.ssl_channel_credentials()).close()


def test_a_unix_socket(tmp_path: pathlib.Path) -> None:
    tmp_path.chmod(0o700)
    listen = f"unix://{tmp_path}/grpc.sock"
    with Daemon(listen=listen), Client(listen, token="shown-in-plain-text") as client:
        assert client.server_info().engine == "memory"


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize(
    ("error", "match", "options"),
    [
        (TypeError, "target must be a str", {"target": 7420}),
        (transcriptd.BadTargetError, "such as", {"target": ""}),
        (transcriptd.BadTargetError, "blanks", {"target": "127.0.0.1:1\n"}),
        (transcriptd.BadTargetError, "no URL", {"target": "https://127.0.0.1:7420"}),
        (transcriptd.BadTargetError, "must be HOST:PORT", {"target": "localhost"}),
        (transcriptd.BadTargetError, "must be HOST:PORT", {"target": "dns:///example.com", "insecure": True}),
        (transcriptd.BadTargetError, "must be HOST:PORT", {"target": "::1"}),
        (TypeError, "namespace must be a str", {"namespace": 5}),
        (transcriptd.BadTargetError, "token cannot be used", {"token": "two words"}),
        (transcriptd.BadTargetError, "token cannot be used", {"token": ""}),
        (transcriptd.BadTargetError, "token or token_file", {"token": "a", "token_file": "b"}),
        (transcriptd.BadTargetError, "token_file must have a token", {"token_file": "/nowhere/token"}),
        (transcriptd.BadTargetError, "must be readable and in PEM", {"ca": "/nowhere/ca.pem"}),
        (transcriptd.BadTargetError, "must be readable and in PEM", {"ca": __file__}),
        (transcriptd.BadTargetError, "must be readable and in PEM", {"client_certificate": (__file__, __file__)}),
        (TypeError, "pair of files", {"client_certificate": "cert.pem"}),
        (transcriptd.BadTargetError, "give one of", {"credentials": grpc.ssl_channel_credentials(), "insecure": True}),
        (TypeError, "credentials must be", {"credentials": "ca.pem"}),
        (TypeError, "retry must be", {"retry": 3}),
        (TypeError, "deadline must be a number of seconds", {"deadline": "5s"}),
        (ValueError, "deadline must be more than 0", {"deadline": 0}),
        (ValueError, "idle must be more than 0", {"idle": -1.0}),
        (TypeError, "verify must be True or False", {"verify": "yes"}),
        (ValueError, "cache_bytes must be from 0", {"cache_bytes": -1}),
        (TypeError, "unexpected keyword", {"name_space": "acme"}),
    ],
)
def test_arguments_that_cannot_be(kind: type[Any], error: type[Exception], match: str, options: dict[str, Any]) -> None:
    with pytest.raises(error, match=match):
        kind(**{"target": "127.0.0.1:7420", **options})


def transcriptctl(*words: str) -> str:
    done = subprocess.run([build("./cmd/transcriptctl"), *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    made = tmp_path_factory.mktemp("callers")
    made.chmod(0o700)
    return made


@pytest.fixture(scope="module")
def tokens(folder: pathlib.Path) -> dict[str, str]:
    file = str(folder / "principals.json")
    create = ("token", "create", "--principals", file, "--namespaces", "acme*", "--role")
    made = {
        "writes": transcriptctl(*create, "read,append", "writer"),
        "reads": transcriptctl(*create, "read", "reader"),
        "expires": transcriptctl(*create, "read", "brief", "--expires", "1s"),
    }
    time.sleep(1.1)
    return made


@pytest.fixture(scope="module")
def guarded(folder: pathlib.Path, tokens: dict[str, str]) -> Iterator[Daemon]:
    assert tokens
    with Daemon("--principals", str(folder / "principals.json")) as running:
        yield running


def test_a_token_shows_who_calls(guarded: Daemon, tokens: dict[str, str], tmp_path: pathlib.Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"  {tokens['writes']}\n")
    given: list[dict[str, Any]] = [{"token": tokens["writes"]}, {"token": lambda: tokens["writes"]}, {"token_file": file}]
    for options in given:
        with Client(guarded.target, namespace="acme", **options) as client:
            assert client.put(transcriptd.user("hi")).node_id

    async def shown() -> str:
        async def token() -> str:
            await asyncio.sleep(0)
            return tokens["writes"]

        async with AsyncClient(guarded.target, namespace="acme", token=token) as client:
            return (await client.put(transcriptd.user("hi"))).node_id

    assert asyncio.run(shown())


@pytest.mark.parametrize("which", [None, "expires", "unknown"])
def test_a_caller_that_is_not_known_is_refused_at_once(guarded: Daemon, tokens: dict[str, str], which: str | None) -> None:
    unknown = tokens["writes"][:-1] + ("0" if tokens["writes"][-1] != "0" else "1")
    token = tokens.get(which, unknown) if which else None
    with Client(guarded.target, namespace="acme", token=token) as client:
        with pytest.raises(transcriptd.UnauthenticatedError) as failed:
            client.put(transcriptd.user("hi"))
        assert failed.value.reason == "UNAUTHENTICATED"
        assert not transcriptd.may_have_happened(failed.value)
        assert token is None or token not in str(failed.value)
        with pytest.raises(transcriptd.UnauthenticatedError):
            list(client.frames(transcriptd.by_alias("a")))


def test_a_grant_that_is_missing_is_told(guarded: Daemon, tokens: dict[str, str]) -> None:
    with Client(guarded.target, namespace="acme", token=tokens["reads"]) as client:
        with pytest.raises(transcriptd.PermissionDeniedError):
            client.put(transcriptd.user("hi"))
        with pytest.raises(transcriptd.AliasNotFoundError):
            client.resolve("a")
    with (
        Client(guarded.target, namespace="other", token=tokens["reads"]) as client,
        pytest.raises(transcriptd.PermissionDeniedError),
    ):
        client.resolve("a")


def test_a_function_without_a_token_sends_nothing(daemon: Daemon) -> None:
    class NoTokenError(Exception):
        pass

    def broken() -> str:
        raise NoTokenError("the vault says: hunter2")

    def refuses() -> str:
        raise ValueError("hunter2")

    with Between(daemon.target) as between:
        for token in (broken, refuses, lambda: "two words", lambda: 5):
            with Client(between.target, token=token) as client:  # type: ignore[arg-type]
                with pytest.raises(transcriptd.UnauthenticatedError, match="not sent") as failed:
                    client.put(transcriptd.user("hi"))
                assert not transcriptd.may_have_happened(failed.value)
                assert "hunter2" not in str(failed.value)
        assert not between.calls


def test_a_new_token_is_shown_within_a_second(daemon: Daemon, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "token"
    file.write_text("first")
    with Between(daemon.target) as between, Client(between.target, token_file=file) as client:

        def shown() -> Any:
            client.server_info()
            client._info = None
            return between.metadata[-1]["authorization"]

        assert shown() == "Bearer first"
        assert between.metadata[-1]["user-agent"].startswith(f"transcriptd-python/{transcriptd.__version__} ")
        file.write_text("second")
        time.sleep(1.05)
        assert shown() == "Bearer second"
        file.write_text("")
        time.sleep(1.05)
        assert shown() == "Bearer second"


def certificates(folder: pathlib.Path, name: str) -> None:
    """Makes a CA, and a certificate for this machine that it has signed."""

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=folder)

    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1")
    openssl("req", "-x509", *new, "-keyout", f"{name}-ca.key", "-out", f"{name}-ca.pem", "-subj", f"/CN={name}")
    openssl("req", "-x509", *new, "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}", "-CA", f"{name}-ca.pem",
            "-CAkey", f"{name}-ca.key", "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=CA:FALSE")  # fmt: skip
    (folder / f"{name}.key").chmod(0o600)


def test_tls_by_files_which_are_read_again(tmp_path: pathlib.Path) -> None:
    tmp_path.chmod(0o700)
    for name in ("one", "two"):
        certificates(tmp_path, name)
    ca = tmp_path / "trusted.pem"
    ca.write_bytes((tmp_path / "one-ca.pem").read_bytes())
    quick = transcriptd.Retry(attempts=1)
    with (
        Daemon("--tls-cert", str(tmp_path / "one.pem"), "--tls-key", str(tmp_path / "one.key")) as one,
        Daemon("--tls-cert", str(tmp_path / "two.pem"), "--tls-key", str(tmp_path / "two.key")) as two,
        Client(one.target, ca=ca, retry=quick) as client,
        Client(two.target, ca=ca, retry=quick) as other,
        Client(one.target, retry=quick) as plain,
        Client(one.target, credentials=grpc.ssl_channel_credentials(ca.read_bytes()), retry=quick) as given,
        Client(one.target, client_certificate=(tmp_path / "one.pem", tmp_path / "one.key"), retry=quick) as shows,
    ):
        assert client.server_info().engine
        assert given.server_info().engine
        for untrusted in (other, plain, shows):
            with pytest.raises(transcriptd.TranscriptError) as failed:
                untrusted.server_info()
            assert failed.value.code is grpc.StatusCode.UNAVAILABLE
        ca.write_bytes((tmp_path / "two-ca.pem").read_bytes())
        time.sleep(1.05)
        assert other.server_info().engine
        ca.write_bytes(b"")
        time.sleep(1.05)
        assert len(list(other.aliases())) == 0


def test_a_token_does_not_leave_over_credentials_without_tls(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the credentials are the caller's, gRPC itself sees to it."""
    monkeypatch.setattr(connection, "loopback", lambda _: False)
    import grpc.experimental

    experimental: Any = grpc.experimental
    plain = experimental.insecure_channel_credentials()
    with Between(daemon.target) as between:
        with Client(between.target, credentials=plain, token="secret", retry=transcriptd.Retry(attempts=1)) as client:
            with pytest.raises(transcriptd.TranscriptError) as failed:
                client.resolve("a")
            assert failed.value.code is grpc.StatusCode.UNAUTHENTICATED
            assert "secret" not in str(failed.value)
        assert not between.calls
