"""The peak of this process: not of the one that started it."""

import subprocess
import sys

from marius_lite.metrics.usage import peak_rss

GIVEN_BACK = """
import numpy as np
from marius_lite.metrics.usage import peak_rss, process_usage
before = peak_rss()
block = np.ones(300 << 20, np.uint8)
del block
print(peak_rss() - before, process_usage()["peak_rss"] - peak_rss())
"""


def in_a_child(code):
    return [
        int(n) for n in subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    ]


def test_the_peak_stays_after_memory_is_given_back():
    """In a process of its own: this one may have had gigabytes before."""
    more, told = in_a_child(GIVEN_BACK)
    assert more > 100 << 20
    assert told >= -(1 << 20)


def test_a_child_begins_with_its_own():
    (child,) = in_a_child("from marius_lite.metrics.usage import peak_rss; print(peak_rss())")
    assert child < 200 << 20 < peak_rss()
