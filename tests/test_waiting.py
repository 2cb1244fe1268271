"""Torch's threads sleep soon while they wait, if this package is imported before torch."""

import os
import subprocess
import sys

import pytest

from marius_lite.waiting import FEW

SPINS = "from marius_lite.waiting import threads_spin; import os; print(threads_spin(), os.environ.get('GOMP_SPINCOUNT'))"


def run(program, **given):
    environment = {name: value for name, value in os.environ.items() if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
    return subprocess.run([sys.executable, "-c", program], env=environment | given, text=True, capture_output=True, check=True)


@pytest.mark.parametrize(
    ("imports", "given", "told"),
    [
        ("marius_lite", {}, f"False {FEW}"),
        ("marius_lite, torch", {}, f"False {FEW}"),
        ("torch, marius_lite", {}, f"True {FEW}"),
        ("torch, marius_lite", {"OMP_WAIT_POLICY": "ACTIVE"}, "False None"),
        ("marius_lite", {"GOMP_SPINCOUNT": "7"}, "False 7"),
    ],
)
def test_threads_sleep_soon_unless_torch_is_there_already_or_the_user_says_otherwise(imports, given, told):
    assert run(f"import {imports}; {SPINS}", **given).stdout.strip() == told


def test_openmp_reads_it_when_torch_is_loaded():
    """What OpenMP says of itself at its start names the turns that were set by the import."""
    told = run("import marius_lite, torch", OMP_DISPLAY_ENV="verbose").stderr
    if "GOMP_SPINCOUNT" not in told:
        pytest.skip("this torch's OpenMP is not GNU's")
    assert f"GOMP_SPINCOUNT = '{FEW}'" in told
