"""The errors of the program. There are two kinds: the input is wrong, or the run failed."""

from __future__ import annotations


class MariusError(Exception):
    """The base of every error that is raised on purpose. Its text says what was found, where, and what to do."""


class UserError(MariusError, ValueError):
    """The input or the configuration is wrong. The exit code is 2."""


class MemoryWanted(UserError):
    """The task needs more memory than was given. With more memory, the same command continues from what it has done."""


class RunError(MariusError, RuntimeError):
    """The run failed although its input was right (disk full, damaged file, lost lock). The exit code is 1."""


class DiskFull(RunError):
    """The disk is full. Its text ends with what to do once there is room, which a run knows better (`to_go_on`)."""

    AGAIN = "do the same again"

    def to_go_on(self, how: str) -> DiskFull:
        """Return the error with another end."""
        return DiskFull(str(self).removesuffix(self.AGAIN) + how)


class NotFinite(RunError):
    """The model has diverged: a number in it is not finite."""


class EndedElsewhere(MariusError):
    """A process ends because another one did, whose message tells why. ``exit_code``: the exit code of that one."""

    def __init__(self, exit_code: int):
        super().__init__(f"ended with exit code {exit_code}, for a reason that another process tells")
        self.exit_code = exit_code

    def __reduce__(self) -> tuple[type[EndedElsewhere], tuple[int]]:
        return EndedElsewhere, (self.exit_code,)
