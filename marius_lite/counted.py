"""Counts of things, as a person reads them."""

from __future__ import annotations


def counted(count: int, what: str) -> str:
    """Return a count with its noun, which takes an s unless there is one: '1 new node', '3,000 edges'."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
