"""The storage tests' view of tests/faults.py."""

from faults import fault_library, fault_server, faults, forked_faults  # noqa: F401
