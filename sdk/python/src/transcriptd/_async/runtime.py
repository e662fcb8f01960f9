"""What calls run on: gRPC's channel over asyncio. Its twin in _sync is written by hand, too."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncGenerator
from typing import Any

import grpc
import grpc.aio

from ..connection import Reread, Settings, channel_options, checked_token, no_token, not_sent, received
from ..errors import CancelledError, ClosedError, DeadlineExceededError, typed, undone

# The seconds before a deadline from which on a stream that the server cancels is one whose deadline has passed by its clock.
_EARLY = 0.05


class Runtime:
    """Sends requests and receives replies, both as bytes. What fails is a TranscriptError.

    It belongs to the event loop of its first call.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._files = Reread(settings)
        self._channel: grpc.aio.Channel | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._retired: list[_Lease] = []
        self._lease = _Lease(None)
        self._closing: asyncio.Event | None = None
        self.closed = False

    def _open(self) -> _Lease:
        """The channel for a call: another one where the files that TLS goes by have changed."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            if self._loop is not None:
                raise RuntimeError("an AsyncClient belongs to the event loop of its first call: make one for each loop")
            self._loop, self._closing = loop, asyncio.Event()
        if self._lease.channel is None or self._files.changed():
            self._retired = [lease for lease in [*self._retired, self._lease] if lease.calls]
            self._lease = _Lease(self._connect())
        return self._lease

    def _connect(self) -> grpc.aio.Channel:
        options = channel_options(self._settings.local)
        if self._files.credentials is None:
            return grpc.aio.insecure_channel(self._settings.target, options=options)
        return grpc.aio.secure_channel(self._settings.target, self._files.credentials, options=options)

    async def _shown(self) -> dict[str, Any]:
        """What shows who calls, as arguments of a call."""
        if self._settings.token is None:
            return {}
        try:
            token = self._settings.token()
            token = checked_token(await token if inspect.isawaitable(token) else token)
        except Exception as error:
            raise no_token(error) from error
        if self._settings.guarded():
            return {"credentials": grpc.access_token_call_credentials(token)}
        return {"metadata": (("authorization", f"Bearer {token}"),)}

    async def unary(self, method: str, request: bytes, timeout: float | None) -> bytes:
        """Sends a request once, for as many seconds at most."""
        end = self._begin(timeout)
        shown = await self._shown()
        with self._open() as channel:
            send: Any = channel.unary_unary(method)
            try:
                return received(await send(request, timeout=timeout, **shown))
            except grpc.RpcError as error:
                raise self._failed(error, end) from None
            except asyncio.CancelledError:
                self._cancelled()
                raise
            except grpc.aio.UsageError:
                raise undone(ClosedError("the client is closed")) from None

    async def stream(self, method: str, request: bytes, timeout: float | None) -> AsyncGenerator[bytes, None]:
        """Sends a request once and yields its replies. No reply for the client's idle time ends it; time that the caller spends on one does
        not count. A caller that wants no more closes the iterator."""
        end = self._begin(timeout)
        shown = await self._shown()
        with self._open() as channel:
            send: Any = channel.unary_stream(method)
            try:
                call = send(request, timeout=timeout, **shown)
            except grpc.aio.UsageError:
                raise undone(ClosedError("the client is closed")) from None
            try:
                while True:
                    reply = await self._next(call, end)
                    if reply is grpc.aio.EOF:
                        return
                    yield reply
            finally:
                call.cancel()

    async def _next(self, call: Any, end: float) -> Any:
        """The next reply of a stream, or EOF."""
        expired = False

        def expire() -> None:
            nonlocal expired
            expired = True
            call.cancel()

        timer = None
        if self._settings.idle is not None:
            timer = asyncio.get_running_loop().call_later(self._settings.idle, expire)
        try:
            return await call.read()
        except grpc.RpcError as error:
            if expired:
                raise DeadlineExceededError(f"no frame for {self._settings.idle} s") from None
            raise self._failed(error, end) from None
        except asyncio.CancelledError:
            if expired and not _being_cancelled():
                raise DeadlineExceededError(f"no frame for {self._settings.idle} s") from None
            self._cancelled()
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def _begin(self, timeout: float | None) -> float:
        """When a call ends that begins now, on time.monotonic's clock."""
        if self.closed:
            raise undone(ClosedError("the client is closed"))
        if timeout is not None and timeout <= 0:
            raise undone(DeadlineExceededError("the deadline passed before the call was sent"))
        return float("inf") if timeout is None else time.monotonic() + timeout

    def _failed(self, error: grpc.RpcError, end: float) -> Exception:
        """The error of a call that was to end by then."""
        if self.closed and error.code() is grpc.StatusCode.CANCELLED:
            return ClosedError("the client was closed while the call was under way")
        failed = typed(error)
        if type(failed) is CancelledError and not failed.request_id and time.monotonic() >= end - _EARLY:
            return DeadlineExceededError("the deadline passed, as the server was the first to find")
        return undone(failed) if not_sent(error) else failed

    def _cancelled(self) -> None:
        """Tells a cancellation by close from that of the caller's task."""
        if self.closed and not _being_cancelled():
            raise ClosedError("the client was closed while the call was under way") from None

    async def pause(self, seconds: float) -> None:
        """Waits, until the client is closed at most."""
        closing = self._closing or asyncio.Event()
        try:
            await asyncio.wait_for(closing.wait(), seconds)
        except asyncio.TimeoutError:
            return

    async def close(self) -> None:
        """Ends all calls and connections. Again, it does nothing."""
        self.closed = True
        if self._closing is not None:
            self._closing.set()
        for lease in [*self._retired, self._lease]:
            if lease.channel is not None:
                await lease.channel.close()


class _Lease:
    """A channel and the number of calls that use it. One that none uses, and nobody will, is collected, and so ends."""

    def __init__(self, channel: grpc.aio.Channel | None) -> None:
        self.channel = channel
        self.calls = 0

    def __enter__(self) -> grpc.aio.Channel:
        assert self.channel is not None
        self.calls += 1
        return self.channel

    def __exit__(self, *_: object) -> None:
        self.calls -= 1


def _being_cancelled() -> bool:
    """Whether the caller's task is being cancelled, as far as this version of Python tells."""
    task = asyncio.current_task()
    cancelling = getattr(task, "cancelling", None)
    return bool(cancelling is not None and cancelling())


async def resolved(value: Any) -> Any:
    """What a function of the caller gave, awaited where it is to be."""
    return await value if inspect.isawaitable(value) else value
