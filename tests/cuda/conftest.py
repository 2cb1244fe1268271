"""The CUDA tests' view of tests/device/host_library.py."""

from host_library import host_library, host_library_path  # noqa: F401
