# Made from ../_async/client.py by tools/unasync.py: do not edit.
"""The client."""

from __future__ import annotations

import os
from types import TracebackType

import grpc

from ..connection import Token, settings
from ..retry import Retry
from .admin import Admin
from .begin import Begin
from .runs import Runs
from .views import Views


class Client(Begin, Views, Runs, Admin):
    """Calls a transcriptd on behalf of one namespace, at an address of gRPC: "127.0.0.1:7420", "unix:///run/transcriptd/grpc.sock".

    It does not connect: the first call does. Its calls may run at once. As a context manager it is closed behind the block.

    Args:
        namespace: that of every call: [a-z0-9._-], 1 to 64 characters.
        token: shown with each call; or a function that gives it, which is asked for each attempt, maybe by many at once, and whose
            error is UnauthenticatedError of the call, which is not sent. Tokens do not go in plain text to another machine, unless
            `insecure` is True.
        token_file: a file with the token, blanks around it aside. Looked at again once a second at most, as calls are made; while there is
            no token in it, the last one goes on being shown.
        ca: TLS; servers are trusted whose certificates are signed by one in this file, in PEM, and no others.
        client_certificate: TLS; shows the certificate of these files, (certificate, key), in PEM. Without `ca` servers are trusted whom
            the system trusts. The files are looked at again as calls are made, once a second at most: new ones make a new connection.
        insecure: plain text to other machines too, tokens included. Loopback and unix sockets are spoken to in plain text anyway.
        credentials: TLS in any other way: grpc.ssl_channel_credentials() trusts whom gRPC trusts.
        deadline: the seconds that a call may take, repeats included, where no transcriptd.deadline() is around it. None: no deadline; then a
            call is repeated until the pauses between its attempts come to a minute.
        idle: the seconds that a stream may go without a frame; the stream as a whole may take any time. None: any time passes between
            frames too.
        retry: how calls are repeated that may be.
        verify: recomputes the ids of whatever is put and assembled: see assemble.
        deterministic: leaves out the salts of appends: equal appends below one node are one node, and ids are those of their content. Of
            writers that put the same at once, one whose reply was lost may then take another's node for its own.
        cache_bytes: bounds what the client's threads keep of what they assembled, all of them together; 0: nothing is kept.

    Errors: InsecureError, BadTargetError, TypeError and ValueError name what is wrong with the arguments.
    """

    def __init__(
        self,
        target: str,
        *,
        namespace: str = "default",
        token: Token | None = None,
        token_file: str | os.PathLike[str] | None = None,
        ca: str | os.PathLike[str] | None = None,
        client_certificate: tuple[str | os.PathLike[str], str | os.PathLike[str]] | None = None,
        insecure: bool = False,
        credentials: grpc.ChannelCredentials | None = None,
        deadline: float | None = 30.0,
        idle: float | None = 30.0,
        retry: Retry | None = None,
        verify: bool = False,
        deterministic: bool = False,
        cache_bytes: int = 64 << 20,
    ) -> None:
        super().__init__(
            settings(
                target,
                namespace=namespace,
                token=token,
                token_file=token_file,
                ca=ca,
                client_certificate=client_certificate,
                insecure=insecure,
                credentials=credentials,
                deadline=deadline,
                idle=idle,
                retry=retry,
                verify=verify,
                deterministic=deterministic,
                cache_bytes=cache_bytes,
            )
        )

    def close(self) -> None:
        """Ends the connection, and with it calls under way. They, and all calls from then on, fail with ClosedError. Closing again does
        nothing."""
        self._runtime.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()
