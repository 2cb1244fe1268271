"""The tests of rows see the emulated device of tests/device."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "device"))

from host_library import host_library, host_library_path  # noqa: F401
