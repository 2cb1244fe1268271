"""The storage tests' view of tests/faults.py."""

from faults import fault_library, faults  # noqa: F401
