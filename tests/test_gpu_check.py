"""scripts/gpu_check without a GPU: what it says, what it counts, what its record vouches for."""

import json
import shutil
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from xml.etree.ElementTree import Element, tostring

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "scripts" / "gpu_check"


@pytest.fixture(scope="module")
def check():
    loader = SourceFileLoader("gpu_check", str(SCRIPT))
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    module = module_from_spec(spec_from_loader("gpu_check", loader))
    loader.exec_module(module)
    sys.dont_write_bytecode = before
    return module


@pytest.fixture
def sources(tmp_path):
    """A small tree like the checkout's."""
    for name in (
        "csrc/cuda/api.h",
        "csrc/cuda/kernels.cu",
        "csrc/bind/cuda.cpp",
        "csrc/bind/io.cpp",
        "marius_lite/device/links.py",
        "marius_lite/device/verified.py",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path


def test_without_a_gpu_it_says_so_and_stops(check):
    if check.find_gpu():
        pytest.skip("there is a GPU here")
    done = subprocess.run([sys.executable, SCRIPT, "test"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert "no NVIDIA GPU here" in done.stderr


def test_an_unknown_phase_is_refused():
    done = subprocess.run([sys.executable, SCRIPT, "fly"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "fly" in done.stderr


def test_the_hash_is_stable(check, sources):
    first = check.source_hash(sources)
    assert len(first) == 64
    shutil.rmtree(sources / "marius_lite/device/__pycache__", ignore_errors=True)
    (sources / "marius_lite/device/__pycache__").mkdir()
    (sources / "marius_lite/device/__pycache__/links.cpython-311.pyc").write_bytes(b"x")
    (sources / "csrc/bind/io.cpp").write_text("another floor")
    (sources / "marius_lite/device/verified.py").write_text('GPUS = ("NVIDIA H200",)')
    assert check.source_hash(sources) == first


@pytest.mark.parametrize("name", ["csrc/cuda/api.h", "csrc/cuda/kernels.cu", "csrc/bind/cuda.cpp", "marius_lite/device/links.py"])
def test_the_hash_changes_with_a_file(check, sources, name):
    first = check.source_hash(sources)
    (sources / name).write_text("changed")
    changed = check.source_hash(sources)
    (sources / name).rename((sources / name).with_name("renamed" + Path(name).suffix))
    assert len({first, changed, check.source_hash(sources)}) == 3


def test_the_checkout_has_a_hash(check):
    assert check.source_hash(ROOT) != check.source_hash(ROOT / "tests")


def test_tests_are_counted(check, tmp_path):
    report = tmp_path / "tests.xml"
    assert check.junit_counts(report) == {"tests passed": 0, "tests failed": 0, "tests skipped": 0}
    report.write_text('<testsuites><testsuite tests="9" failures="2" errors="1" skipped="3"/></testsuites>')
    assert check.junit_counts(report) == {"tests passed": 3, "tests failed": 3, "tests skipped": 3}


@pytest.mark.parametrize(
    ("counted", "code", "failed"),
    [
        ({"tests": 5, "skipped": 1}, 0, ""),
        ({"tests": 5, "failures": 1}, 1, "tests"),
        ({"tests": 5, "skipped": 5}, 0, "no test ran on the GPU"),
        (None, 124, "tests; no test ran on the GPU"),
    ],
)
def test_the_test_phase_fails_unless_tests_pass_on_the_gpu(check, monkeypatch, counted, code, failed):
    class Phase:
        def run(self, command, **variables):
            report = next((part.partition("=")[2] for part in command if part.startswith("--junitxml=")), None)
            if report and counted:
                Path(report).write_bytes(tostring(Element("testsuite", {key: str(value) for key, value in counted.items()})))
            return (code if report else 0), ""

    monkeypatch.setattr(check.shutil, "which", lambda name, path=None: None)
    assert check.test(Phase(), None)["failed"] == failed


FACTS = {"gpu": "NVIDIA Test", "driver": "1.2", "hash": "a"}
FIGURE = {"figure": "gather", "value": 0.97, "unit": "", "goal": 0.95, "better": "more", "detail": "8 SMs", "pass": True}


def test_a_record_is_completed_phase_by_phase_and_forgotten_with_its_sources(check, tmp_path):
    path = tmp_path / "gpu.json"
    assert check.stored(path, FACTS) == {**FACTS, "phases": {}}
    path.write_text(json.dumps({**FACTS, "phases": {"build": {"failed": ""}}}))
    assert check.stored(path, FACTS)["phases"] == {"build": {"failed": ""}}
    assert check.stored(path, {**FACTS, "hash": "b"})["phases"] == {}


def test_a_record_reads_as_a_table(check):
    missed = {**FIGURE, "figure": "pinning", "value": 2.0, "goal": 3.0, "pass": False}
    bench = {"benchmarks": [{"benchmark": "b", "figures": [FIGURE, missed]}], "failed": ""}
    told = check.describe({**FACTS, "phases": {"test": {"tests passed": 7, "failed": ""}, "bench": bench}})
    assert "# NVIDIA Test" in told
    assert "- tests passed: 7" in told
    assert "| gather | 0.97 | ≥ 0.95 | pass | 8 SMs |" in told
    assert "| pinning | 2 | ≥ 3 | MISS | 8 SMs |" in told


def test_a_gpu_is_proven_by_tests_and_agreement(check):
    agreement = {"benchmark": "gpu_agreement", "figures": [FIGURE, {**FIGURE, "goal": None, "pass": None}]}
    phases = {"test": {"tests passed": 5, "failed": ""}, "train": {"benchmarks": [agreement], "failed": ""}}
    assert check.proven({"phases": phases})
    assert not check.proven({"phases": {"test": phases["test"]}})
    assert not check.proven({"phases": {**phases, "test": {"tests passed": 5, "failed": "tests"}}})
    assert not check.proven({"phases": {**phases, "test": {"tests passed": 0, "failed": ""}}})
    missed = {**agreement, "figures": [{**FIGURE, "pass": False}]}
    assert not check.proven({"phases": {**phases, "train": {"benchmarks": [missed], "failed": ""}}})


def test_a_phase_kills_what_outlasts_it(check):
    phase = check.Phase()
    phase.end = 0.0
    assert phase.run([sys.executable, "-c", "import time; time.sleep(60)"], capture=True) == (124, "")


@pytest.mark.parametrize(
    ("speed", "width", "told"),
    [
        ("32.0 GT/s PCIe", "16", "PCIe 5 x16, at most PCIe 5 x16"),
        ("2.5 GT/s PCIe", "8", "PCIe 1 x8, at most PCIe 1 x8"),
        ("Unknown", "0", "unknown"),
        (None, None, "unknown"),
    ],
)
def test_the_link_is_read(check, tmp_path, monkeypatch, speed, width, told):
    facts = check.machine_facts
    monkeypatch.setattr(facts, "gpus", list)
    folder = tmp_path / "0000:1b:00.0"
    folder.mkdir()
    if speed:
        for which in ("current", "max"):
            (folder / f"{which}_link_speed").write_text(speed + "\n")
            (folder / f"{which}_link_width").write_text(width + "\n")
    assert facts.link("00000000:1B:00.0", tmp_path) == facts.link("0000:1b:00.0", tmp_path) == told
