"""Scratch folders of vectors: those of the living stay."""

import os
import subprocess
import sys

import pytest

from marius_lite.encode.vectors import SCRATCH
from marius_lite.temporary import remove_scratch

HOLDER = """
import sys, time
from pathlib import Path
from marius_lite.temporary import scratch
with scratch(Path(sys.argv[1]), sys.argv[2]) as place:
    (place / "rows.tmp").mkdir()
    print(place, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("killed", [False, True])
def test_what_another_process_works_on_is_removed_only_when_it_is_gone(tmp_path, killed):
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path, SCRATCH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        place = holder.stdout.readline().strip()
        remove_scratch(tmp_path, SCRATCH)
        assert os.listdir(place) == ["rows.tmp"]
        if killed:
            holder.kill()
        else:
            holder.stdin.close()
    assert os.path.exists(place) == killed
    (tmp_path / f"{SCRATCH}17").mkdir()  # as versions before called them
    remove_scratch(tmp_path, SCRATCH)
    assert os.listdir(tmp_path) == []
