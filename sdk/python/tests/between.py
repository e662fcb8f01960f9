"""A server between a client and a daemon that changes what passes: requests that it refuses, replies that it tampers with."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import grpc
from google.protobuf import any_pb2
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

Change = Callable[[str, bytes], bytes]


class Refusal(Exception):
    """A request that is refused, with details."""

    def __init__(self, code: grpc.StatusCode, reason: str = "", *details: Message) -> None:
        info = [error_details_pb2.ErrorInfo(reason=reason, domain="transcript.v1")] if reason else []
        packed = []
        for detail in [*info, *details]:
            one = any_pb2.Any()
            one.Pack(detail)
            packed.append(one)
        self.code = code
        self.status = status_pb2.Status(code=code.value[0], details=packed).SerializeToString()


class Between(grpc.GenericRpcHandler):
    """A running server; as a context manager it ends behind the block. `target` is where clients call.

    `requests` and `replies` are asked for each request and each reply of a call, with the rpc's name, and give what passes in its place; a
    Refusal that they raise is the error of the call. `calls` counts requests by rpc.
    """

    def __init__(self, to: str) -> None:
        self.requests: Change = lambda _, request: request
        self.replies: Change = lambda _, reply: reply
        self.calls: dict[str, int] = {}
        self.metadata: list[dict[str, Any]] = []
        self._channel = grpc.insecure_channel(to)
        self._server = grpc.server(futures.ThreadPoolExecutor(8), handlers=[self])
        self.target = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def service(self, call: Any) -> Any:
        name = call.method.rsplit("/", 1)[1]

        def handle(request: bytes, context: Any) -> Iterator[bytes]:
            self.calls[name] = self.calls.get(name, 0) + 1
            self.metadata.append(dict(context.invocation_metadata()))
            send: Any = self._channel.unary_stream(call.method)
            try:
                for reply in send(self.requests(name, request), timeout=30):
                    yield self.replies(name, reply)
            except Refusal as refusal:
                context.set_trailing_metadata((("grpc-status-details-bin", refusal.status),))
                context.abort(refusal.code, "refused")
            except grpc.RpcError as error:
                trailers: Any = error.trailing_metadata()
                context.set_trailing_metadata(tuple((k, v) for k, v in trailers if k == "grpc-status-details-bin"))
                context.abort(error.code(), error.details())

        return grpc.unary_stream_rpc_method_handler(handle)  # a call with one reply looks the same on the wire

    def __enter__(self) -> Between:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop(None).wait(10)
        self._channel.close()


@contextlib.contextmanager
def changed(between: Between, **changes: Change) -> Iterator[None]:
    """Changes requests or replies within a block."""
    before = {name: getattr(between, name) for name in changes}
    for name, change in changes.items():
        setattr(between, name, change)
    try:
        yield
    finally:
        for name, change in before.items():
            setattr(between, name, change)
