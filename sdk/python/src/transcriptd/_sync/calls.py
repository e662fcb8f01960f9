# Made from ../_async/calls.py by tools/unasync.py: do not edit.
"""How calls are made: repeated where they may be, until their deadline; pages; streams."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import TypeVar

import grpc
from google.protobuf.message import DecodeError, Message

from .. import _check, v1
from ..cache import Cache
from ..connection import Settings
from ..errors import BadReplyError, MalformedRequestError, TranscriptError, UnsupportedError, may_have_happened
from ..features import needed
from ..retry import Pauses, callers_deadline, may_repeat, transient
from ..v1 import admin_service_pb2
from .runtime import Runtime

Reply = TypeVar("Reply", bound=Message)
T = TypeVar("T")

_ADMIN = frozenset(admin_service_pb2.DESCRIPTOR.services_by_name["AdminService"].methods_by_name)

PAGE_SIZE = 1000  # the entries that a page is asked for: the most that the server gives


class Calls:
    """What the calls of a client have in common."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._runtime = Runtime(settings)
        self._cache = Cache(settings.cache_bytes)
        self._info: v1.ServerInfoResponse | None = None

    @property
    def namespace(self) -> str:
        """The namespace of all calls."""
        return self._settings.namespace

    def _run(self, may: Callable[[TranscriptError], bool], attempt: Callable[[float | None], T], end: float | None) -> tuple[T, bool]:
        """Calls attempt, with the seconds that it has, until it succeeds, fails for good or may not be repeated. Gives what it gave, and
        whether an earlier attempt may have taken place although it failed, which the error tells, too."""
        pauses = Pauses(self._settings.retry, end)
        unsure, number = False, 0
        while True:
            number += 1
            try:
                return attempt(None if end is None else end - time.monotonic()), unsure
            except TranscriptError as error:
                again = number != self._settings.retry.attempts and may(error)
                pause = pauses.next(error.retry_after) if again else None
                if pause is None:
                    error.retried = error.retried or unsure
                    raise
                unsure = unsure or may_have_happened(error)
            self._runtime.pause(pause)

    def _end(self) -> float | None:
        """When a call that begins now ends: at the caller's deadline, else the client's."""
        end = callers_deadline()
        if end is None and self._settings.deadline is not None:
            end = time.monotonic() + self._settings.deadline
        return end

    def _once(self, method: str, request: Message, timeout: float | None) -> bytes:
        """Sends a request once, and gives the reply as it was received."""
        return self._runtime.unary(_path(method), request.SerializeToString(), timeout)

    def _call(self, method: str, request: Message, reply: type[Reply], repeatable: bool) -> tuple[Reply, bool]:
        """Sends a request until it succeeds, fails for good or may not be sent again, and tells whether an attempt that failed may have
        taken place."""

        def attempt(timeout: float | None) -> bytes:
            return self._once(method, request, timeout)

        try:
            received, unsure = self._run(lambda error: may_repeat(error, repeatable), attempt, self._end())
        except TranscriptError as error:
            raise self._explained(error, method, request) from None
        return decoded(received, reply), unsure

    def _read(self, method: str, request: Message, reply: type[Reply]) -> Reply:
        """_call for what only reads."""
        return decoded(self._raw(method, request), reply)

    def _raw(self, method: str, request: Message) -> bytes:
        """Calls what only reads, and gives the reply as it was received."""

        def attempt(timeout: float | None) -> bytes:
            return self._once(method, request, timeout)

        try:
            return (self._run(transient, attempt, self._end()))[0]
        except TranscriptError as error:
            raise self._explained(error, method, request) from None

    def _pages(self, fetch: Callable[[str], tuple[list[T], str]]) -> Iterator[T]:
        """The entries of page after page; fetch gives one by its token, and the next token."""
        token = ""
        while True:
            entries, following = fetch(token)
            if following and following == token:
                raise BadReplyError("a page leads to itself")
            for entry in entries:
                yield entry
            if not following:
                return
            token = following

    def _stream(self, method: str, request: Message) -> Iterator[bytes]:
        """The replies of a stream. Until the first has come it is opened again where the server is unavailable."""

        def open_stream(timeout: float | None) -> tuple[bytes | None, Generator[bytes, None, None]]:
            opened = self._runtime.stream(_path(method), request.SerializeToString(), timeout)
            return next(opened, None), opened

        try:
            (first, rest), _ = self._run(transient, open_stream, callers_deadline())
        except TranscriptError as error:
            raise self._explained(error, method, request) from None
        with closing(rest):
            if first is None:
                return
            yield first
            for one in rest:
                yield one

    def _explained(self, error: TranscriptError, method: str, request: Message) -> TranscriptError:
        """The error of a call, which names the features that an older server lacks for it."""
        unknown = error.code is grpc.StatusCode.UNIMPLEMENTED or isinstance(error, MalformedRequestError)
        features = needed(method, request) if unknown else set()
        if not features:
            return error
        try:
            info = self.server_info()
        except TranscriptError:
            return error
        missing = sorted(features.difference(info.features))
        if not missing:
            return error
        which = f"of version {info.server_version} " if info.server_version else ""
        return UnsupportedError(f"the server {which}lacks {', '.join(missing)}", request_id=error.request_id, retried=error.retried)

    def server_info(self) -> v1.ServerInfoResponse:
        """Tells what the server is, what it can do, and its limits. It is asked once: the client keeps the answer, as it was then. Of a server
        that does not know the call, since it is older, everything is empty, and it has no features."""
        if self._info is None:
            try:
                self._info = self._read("ServerInfo", v1.ServerInfoRequest(), v1.ServerInfoResponse)
            except TranscriptError as error:
                if error.code is not grpc.StatusCode.UNIMPLEMENTED:
                    raise
                self._info = v1.ServerInfoResponse()
        copy = v1.ServerInfoResponse()
        copy.CopyFrom(self._info)
        return copy

    def supports(self, feature: str) -> bool:
        """Tells whether the server has a feature: a name of the list in docs/api.md. The client sends a field of a feature only where its caller
        asks for what it does; an older server's refusal is UnsupportedError, which names the feature."""
        return _check.text("feature", feature) in (self.server_info()).features

    def _whole(self, method: str, request: Message, each: Callable[[bytes], None], timeout: float | None) -> None:
        """Opens a stream once and gives each reply away until it ends."""
        with closing(self._runtime.stream(_path(method), request.SerializeToString(), timeout)) as received:
            for one in received:
                each(one)


def _path(method: str) -> str:
    service = "AdminService" if method in _ADMIN else "TranscriptService"
    return f"/transcript.v1.{service}/{method}"


def decoded(received: bytes, reply: type[Reply]) -> Reply:
    """A reply, or a part of one, as its message; BadReplyError."""
    try:
        return reply.FromString(received)
    except DecodeError as error:
        raise BadReplyError(f"the reply is no {reply.DESCRIPTOR.name}") from error
