"""What calls run on: gRPC's channel with threads. Its twin in _async is written by hand, too."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from typing import Any

import grpc

from ..connection import Reread, Settings, channel_options, checked_token, no_token, not_sent, received
from ..errors import CancelledError, ClosedError, DeadlineExceededError, typed, undone

# The seconds before a deadline from which on a stream that the server cancels is one whose deadline has passed by its clock.
_EARLY = 0.05


class Runtime:
    """Sends requests and receives replies, both as bytes. What fails is a TranscriptError. All methods may run at once."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._files = Reread(settings)
        self._lock = threading.Lock()
        self._retired: list[_Lease] = []
        self._lease = _Lease(self._connect(), self._lock)
        self._closing = threading.Event()
        self._watchdog = _Watchdog()

    @property
    def closed(self) -> bool:
        """Whether close was called."""
        return self._closing.is_set()

    def _open(self) -> _Lease:
        """The channel for a call: another one where the files that TLS goes by have changed. It counts the call at once, so that no other
        thread closes the channel before it is sent."""
        with self._lock:
            ended = [lease for lease in self._retired if not lease.calls]
            self._retired = [lease for lease in self._retired if lease.calls]
            if self._files.changed() and not self.closed:
                self._retired.append(self._lease)
                self._lease = _Lease(self._connect(), self._lock)
            lease = self._lease
            lease.calls += 1
        for one in ended:
            one.channel.close()
        return lease

    def _connect(self) -> grpc.Channel:
        options = channel_options(self._settings.local)
        if self._files.credentials is None:
            return grpc.insecure_channel(self._settings.target, options=options)
        return grpc.secure_channel(self._settings.target, self._files.credentials, options=options)

    def _shown(self) -> dict[str, Any]:
        """What shows who calls, as arguments of a call."""
        if self._settings.token is None:
            return {}
        try:
            token = checked_token(self._settings.token())
        except Exception as error:
            raise no_token(error) from error
        if self._settings.guarded():
            return {"credentials": grpc.access_token_call_credentials(token)}
        return {"metadata": (("authorization", f"Bearer {token}"),)}

    def unary(self, method: str, request: bytes, timeout: float | None) -> bytes:
        """Sends a request once, for as many seconds at most."""
        end = self._begin(timeout)
        shown = self._shown()
        with self._open() as channel:
            send: Any = channel.unary_unary(method)
            try:
                return received(send(request, timeout=timeout, **shown))
            except grpc.RpcError as error:
                raise self._failed(error, end) from None
            except ValueError:
                if not self.closed:
                    raise
                raise undone(ClosedError("the client is closed")) from None

    def stream(self, method: str, request: bytes, timeout: float | None) -> Generator[bytes, None, None]:
        """Sends a request once and yields its replies. No reply for the client's idle time ends it; time that the caller spends on one does
        not count. A caller that wants no more closes the iterator."""
        end = self._begin(timeout)
        shown = self._shown()
        with self._open() as channel:
            send: Any = channel.unary_stream(method)
            try:
                call = send(request, timeout=timeout, **shown)
            except ValueError:
                if not self.closed:
                    raise
                raise undone(ClosedError("the client is closed")) from None
            with self._watchdog.over(call, self._settings.idle) as watch:
                while True:
                    watch.begin()
                    try:
                        reply = next(call)
                    except StopIteration:
                        return
                    except grpc.RpcError as error:
                        if watch.expired:
                            raise DeadlineExceededError(f"no frame for {self._settings.idle} s") from None
                        raise self._failed(error, end) from None
                    watch.rest()
                    yield reply

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

    def pause(self, seconds: float) -> None:
        """Waits, until the client is closed at most."""
        self._closing.wait(seconds)

    def close(self) -> None:
        """Ends all calls and connections. Again, it does nothing."""
        self._closing.set()
        self._watchdog.close()
        with self._lock:
            leases = [*self._retired, self._lease]
        for lease in leases:
            lease.channel.close()


class _Lease:
    """A channel and the number of calls that use it; each of them gives it back by the end of its with block."""

    def __init__(self, channel: grpc.Channel, lock: threading.Lock) -> None:
        self.channel = channel
        self.calls = 0
        self._lock = lock

    def __enter__(self) -> grpc.Channel:
        return self.channel

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.calls -= 1


class _Watch:
    """A stream that is watched: it is cancelled once no reply came for its idle time."""

    def __init__(self, call: Any, idle: float | None) -> None:
        self.call = call
        self._idle = float("inf") if idle is None else idle
        self.due = float("inf")
        self.expired = False

    def begin(self) -> None:
        """A reply is waited for."""
        self.due = time.monotonic() + self._idle

    def rest(self) -> None:
        """A reply has come, and nothing is waited for."""
        self.due = float("inf")

    def until(self, now: float) -> float:
        """When it can be late at the soonest."""
        return min(self.due, now + self._idle)


class _Watchdog:
    """Watches the streams of a client by one thread, which is there while there are streams."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._watches: set[_Watch] = set()
        self._runs = False

    def over(self, call: Any, idle: float | None) -> _Over:
        """Watches a call within a with block, behind which the call is cancelled."""
        return _Over(self, _Watch(call, idle), watched=idle is not None)

    def add(self, watch: _Watch) -> None:
        with self._changed:
            self._watches.add(watch)
            if not self._runs:
                self._runs = True
                threading.Thread(target=self._watch, name="transcriptd-idle", daemon=True).start()

    def remove(self, watch: _Watch) -> None:
        with self._changed:
            self._watches.discard(watch)

    def close(self) -> None:
        with self._changed:
            self._watches.clear()
            self._changed.notify()

    def _watch(self) -> None:
        lingers = False
        while True:
            with self._changed:
                if not self._watches:
                    if lingers:
                        self._runs = False
                        return
                    self._changed.wait(1.0)
                    lingers = True
                    continue
                lingers = False
                now = time.monotonic()
                late = [watch for watch in self._watches if watch.due <= now]
                if not late:
                    # A stream that begins to wait meanwhile is late no sooner than its idle time behind now.
                    soonest = min(watch.until(now) for watch in self._watches)
                    self._changed.wait(soonest - now)
                    continue
                self._watches.difference_update(late)
            for watch in late:
                watch.expired = True
                watch.call.cancel()


class _Over:
    """Watches a call within a with block."""

    def __init__(self, by: _Watchdog, watch: _Watch, watched: bool) -> None:
        self._by = by
        self._watch = watch
        self._watched = watched

    def __enter__(self) -> _Watch:
        if self._watched:
            self._by.add(self._watch)
        return self._watch

    def __exit__(self, *_: object) -> None:
        if self._watched:
            self._by.remove(self._watch)
        self._watch.call.cancel()


def resolved(value: Any) -> Any:
    """What a function of the caller gave."""
    return value
