"""The storage tests' view of tests/faults.py."""

from faults import faults  # noqa: F401
from forks import forked_faults  # noqa: F401
