"""Checkpointers of LangGraph that keep what they have in transcriptd. Needs the extra `langgraph`.

    with Client("127.0.0.1:7420", namespace="checkpoints") as client:
        graph = builder.compile(checkpointer=TranscriptSaver(client))
        graph.invoke({"messages": [("user", "Hello")]}, {"configurable": {"thread_id": "42"}})

The messages of a state (`messages`, or the first channel that has a list of them) are a chain, of which each checkpoint adds what is new, and
views, search and recall know them. The node of a checkpoint is behind the last of its messages and holds the rest of the state as opaque
parts. Each has an alias, lg/c/=THREAD/=NAMESPACE/=CHECKPOINT; writes that are pending and large values have others (lg/w/, lg/v/). So give it
a namespace of its own.

Deleting a thread deletes the aliases; the nodes stay.

A message of a list that was erased comes as a marker, and the graph goes on. A checkpoint of which something else was erased is not there any more:
`list` passes over it, and who asks for it is told by CheckpointErasedError.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.serde.base import SerializerProtocol

from ._async.checkpoints import Checkpoints as _AsyncCheckpoints
from ._async.client import AsyncClient
from ._sync.checkpoints import Checkpoints
from ._sync.client import Client
from .checkpoint_state import CheckpointErasedError

__all__ = ["AsyncTranscriptSaver", "CheckpointErasedError", "TranscriptSaver"]


class TranscriptSaver(BaseCheckpointSaver[int]):
    """A checkpointer for graphs that run without asyncio, and in threads of its own for those that run with it. Threads may share it; errors
    are those of the client."""

    def __init__(self, client: Client, *, serde: SerializerProtocol | None = None) -> None:
        """`client` is closed by the caller. `serde` writes what is no message, and tells messages apart."""
        super().__init__(serde=serde)
        if not isinstance(client, Client):
            raise TypeError(f"client must be a transcriptd.Client, not {type(client).__name__}: AsyncTranscriptSaver takes an AsyncClient")
        self._checkpoints = Checkpoints(client, self.serde)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Gives the checkpoint of a config, or the last one of its thread; None where there is none; CheckpointErasedError."""
        return self._checkpoints.get(config)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yields checkpoints, the newest of each thread and namespace first, but for those of which something was erased."""
        return self._checkpoints.each(config, filter, before, limit)

    def put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        """Puts a checkpoint and gives its config. Putting the same again changes nothing."""
        return self._checkpoints.put(config, checkpoint, metadata, new_versions)

    def put_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        """Puts what a task has written. Putting the same again changes nothing."""
        self._checkpoints.put_writes(config, writes, task_id, task_path)

    def delete_thread(self, thread_id: str) -> None:
        """Deletes all checkpoints and writes of a thread."""
        self._checkpoints.delete_thread(thread_id)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """get_tuple in a thread of its own, as are the following."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """list, as many at once as there are up to the limit."""
        for one in await asyncio.to_thread(lambda: [*self.list(config, filter=filter, before=before, limit=limit)]):
            yield one

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        """put."""
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        """put_writes."""
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """delete_thread."""
        await asyncio.to_thread(self.delete_thread, thread_id)


class AsyncTranscriptSaver(BaseCheckpointSaver[int]):
    """A checkpointer for graphs that run with asyncio alone: ainvoke, astream. Errors are those of the client."""

    def __init__(self, client: AsyncClient, *, serde: SerializerProtocol | None = None) -> None:
        """As that of TranscriptSaver."""
        super().__init__(serde=serde)
        if not isinstance(client, AsyncClient):
            raise TypeError(f"client must be a transcriptd.AsyncClient, not {type(client).__name__}: TranscriptSaver takes a Client")
        self._checkpoints = _AsyncCheckpoints(client, self.serde)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Gives the checkpoint of a config, or the last one of its thread; None where there is none; CheckpointErasedError."""
        return await self._checkpoints.get(config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yields checkpoints, the newest of each thread and namespace first, but for those of which something was erased."""
        async for one in self._checkpoints.each(config, filter, before, limit):
            yield one

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        """Puts a checkpoint and gives its config. Putting the same again changes nothing."""
        return await self._checkpoints.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        """Puts what a task has written. Putting the same again changes nothing."""
        await self._checkpoints.put_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Deletes all checkpoints and writes of a thread."""
        await self._checkpoints.delete_thread(thread_id)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Not for graphs that run without asyncio: NotImplementedError. It is the first that they call."""
        raise NotImplementedError("AsyncTranscriptSaver is for graphs that run with asyncio: call ainvoke, or take TranscriptSaver")
