"""The peak of this process: not of the one that started it."""

import subprocess
import sys

import numpy as np

from marius_lite.train.usage import peak_rss, process_usage


def test_the_peak_stays_after_memory_is_given_back():
    before = peak_rss()
    block = np.ones(max(before, 300 << 20), np.uint8)
    del block
    assert peak_rss() - before > 100 << 20
    assert process_usage()["peak_rss"] >= peak_rss() - (1 << 20)


def test_a_child_begins_with_its_own():
    code = "from marius_lite.train.usage import peak_rss; print(peak_rss())"
    child = int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert child < 200 << 20 < peak_rss()
