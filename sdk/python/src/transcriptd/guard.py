"""Open runs, as the calls of a guard tell them."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from google.protobuf import timestamp_pb2

from . import v1


@dataclass(frozen=True)
class AliasRun:
    """An alias and, as its `info.loop`, where the last run loop of its chain stands."""

    info: v1.AliasInfo
    now: datetime.datetime
    """The server's clock at the time that the page with the alias was made, in UTC."""

    @property
    def idle(self) -> datetime.timedelta:
        """How long nothing but compactions was put behind the alias, and the alias was not moved, by the server's clock: a new alias of what was put
        long ago is not idle."""
        last = max(utc(self.info.loop.last_put_at), utc(self.info.moved_at))
        return max(datetime.timedelta(0), self.now - last)


@dataclass(frozen=True)
class EndedRun:
    """A run that was ended."""

    node_id: str
    """The node with the outcome."""
    aliases: list[str]
    """Those that point to it now, and pointed to the head of the run before."""
    more_aliases: bool
    """Whether more point to the head, or may: one of them moved meanwhile, or they are too many to be found."""


def utc(timestamp: timestamp_pb2.Timestamp) -> datetime.datetime:
    """A time of a reply."""
    return timestamp.ToDatetime(tzinfo=datetime.timezone.utc)
