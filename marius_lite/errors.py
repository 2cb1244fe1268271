"""What can go wrong, in two kinds: the user's input, and the run."""

from __future__ import annotations


class MariusError(Exception):
    """Base of every error raised on purpose. Its text says what was found, where, and what to do."""


class UserError(MariusError, ValueError):
    """Input or configuration is wrong: exit code 2."""


class MemoryWanted(UserError):
    """What was asked for takes more memory than was given; with more of it the same command goes on from what it has done."""


class RunError(MariusError, RuntimeError):
    """The run failed although its input was right (disk full, damaged file, lost lock): exit code 1."""


class NotFinite(RunError):
    """What a model learned is no number any more."""
