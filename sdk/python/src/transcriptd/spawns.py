"""What a subagent has of the thread that spawns it."""

from __future__ import annotations

from typing import Literal

Inheritance = Literal["none", "arguments", "prefix"]
"""What a subagent has of the thread that spawns it: nothing; the arguments of the call, which the caller puts in its messages; or all that was said
on the thread: its chain goes on from the thread's head."""

INHERITANCES: tuple[Inheritance, ...] = ("none", "arguments", "prefix")

INHERITS_KEY = "spawn/inherits"
"""The metadata key that holds an Inheritance."""
