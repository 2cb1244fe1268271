"""Errors, in two kinds: of the user's input, and of the run."""

from __future__ import annotations


class MariusError(Exception):
    """Base of every error raised on purpose. Its text says what was found, where, and what to do."""


class UserError(MariusError, ValueError):
    """Input or configuration is wrong: exit code 2."""


class MemoryWanted(UserError):
    """The task takes more memory than was given. With more of it the same command goes on from what it has done."""


class RunError(MariusError, RuntimeError):
    """The run failed although its input was right (disk full, damaged file, lost lock): exit code 1."""


class NotFinite(RunError):
    """The model has diverged: a number in it is not finite."""
