"""Torch's threads sleep while they wait, if this package is imported before torch."""

import os
import subprocess
import sys

import pytest

SPINS = "from marius_lite.waiting import threads_spin; import os; print(threads_spin(), os.environ['OMP_WAIT_POLICY'])"


@pytest.mark.parametrize(
    ("imports", "given", "told"),
    [
        ("marius_lite", {}, "False PASSIVE"),
        ("marius_lite, torch", {}, "False PASSIVE"),
        ("torch, marius_lite", {}, "True PASSIVE"),
        ("torch, marius_lite", {"OMP_WAIT_POLICY": "ACTIVE"}, "False ACTIVE"),
    ],
)
def test_threads_sleep_unless_torch_is_there_already_or_the_user_says_otherwise(imports, given, told):
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"} | given
    printed = subprocess.run(
        [sys.executable, "-c", f"import {imports}; {SPINS}"], env=environment, text=True, capture_output=True, check=True
    )
    assert printed.stdout.strip() == told


def test_openmp_reads_it_when_torch_is_loaded():
    """What OpenMP says of itself at its start names the policy that was set by the import."""
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    printed = subprocess.run(
        [sys.executable, "-c", "import marius_lite, torch"],
        env=environment | {"OMP_DISPLAY_ENV": "verbose"},
        text=True,
        capture_output=True,
        check=True,
    )
    if "OMP_WAIT_POLICY" not in printed.stderr:
        pytest.skip("this torch's OpenMP does not say what it was told")
    assert "OMP_WAIT_POLICY = 'PASSIVE'" in printed.stderr
