"""The CUDA tests' view of tests/device/host_library.py."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "device"))

from host_library import host_library, host_library_path  # noqa: F401
