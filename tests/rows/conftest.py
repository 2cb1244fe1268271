"""The tests of rows see the emulated device of tests/device."""

from host_library import host_library, host_library_path  # noqa: F401
