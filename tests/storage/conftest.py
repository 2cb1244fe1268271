"""The storage tests' view of tests/faults.py."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from faults import fault_library, faults  # noqa: F401
