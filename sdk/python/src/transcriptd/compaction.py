"""What a compaction keeps, and when one is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from . import _check, v1
from .messages import text
from .refs import Ref, ref
from .writes import AliasUpdate

if TYPE_CHECKING:
    from .v1 import Policy


class CompactionOptions(TypedDict, total=False):
    """What a compaction keeps, as keyword arguments; none: the server's defaults."""

    through: str
    """The last node that it stands for: the head or an ancestor, with no call left unanswered at it; without: the last such node. With `summary` or
    `summary_only` Client.compact needs it, but for a dry run, which tells it: the last node that the summary tells of."""
    policy: Policy | None
    """Bounds what is kept; absent fields, and None, have the server's defaults."""
    summary: str
    """If not empty, comes first and replaces an earlier one. At most 1 MiB."""
    summary_only: bool
    """Keeps no closed run loop."""
    salt: bytes | None
    """16 to 32 bytes, or none: b"". None: one is made, by which the compaction is known again."""
    dry_run: bool
    """Reports what would be written, and writes nothing."""
    aliases: Sequence[AliasUpdate]
    """Are set to the compaction node in the same commit, beside the alias that is the head."""


@dataclass(frozen=True)
class Compaction:
    """CompactionOptions."""

    through: str = ""
    policy: v1.Policy | None = None
    summary: str = ""
    summary_only: bool = False
    salt: bytes | None = None
    dry_run: bool = False
    aliases: Sequence[AliasUpdate] = ()

    def request(self, namespace: str, head: Ref) -> v1.CompactRequest:
        """The request of it. TypeError and ValueError name an argument that is wrong."""
        return v1.CompactRequest(
            namespace=namespace,
            head=ref("head", head),
            through_id=_check.node_id("through", self.through, empty=True),
            policy=None if self.policy is None else _check.message("policy", self.policy, v1.Policy),
            summary=_check.text("summary", self.summary),
            summary_only=_check.flag("summary_only", self.summary_only),
            salt=_check.salt(self.salt or b""),
            dry_run=_check.flag("dry_run", self.dry_run),
            aliases=[alias.wire() for alias in _check.instances("aliases", self.aliases, AliasUpdate)],
        )


def enough(dry: v1.CompactResponse, summary: int) -> bool:
    """Whether at least a quarter of a view would go, with a summary of so many bytes more than a dry run had."""
    after = dry.report.bytes_after + summary
    return bool((dry.report.bytes_before - after) * 4 >= dry.counters.effective.bytes)


def summary_of(messages: Sequence[v1.Message]) -> str:
    """The text of the summary in a view; empty without one."""
    return next((text(message) for message in messages if message.origin == v1.ORIGIN_SUMMARY), "")
