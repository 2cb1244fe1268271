"""Why gpu_check does nothing."""

from __future__ import annotations


class Refused(Exception):
    """A line that says why nothing is done, and the exit code."""

    def __init__(self, line: str, code: int = 2):
        super().__init__(line)
        self.code = code
