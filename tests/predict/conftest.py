"""The view of tests/faults.py that tests of predictions have."""

from faults import fault_library, faults  # noqa: F401
