"""scripts/gpu_check without a GPU: what it says, what it counts, what its record vouches for."""

import importlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "scripts" / "gpu_check"


class Modules:
    """What the script is made of, by name."""

    def __getattr__(self, name):
        return importlib.import_module(f"gpu_check_parts.{name}")


@pytest.fixture(scope="module")
def check():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        yield Modules()


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
    if check.machine.find_gpu():
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
    first = check.sources.source_hash(sources)
    assert len(first) == 64
    shutil.rmtree(sources / "marius_lite/device/__pycache__", ignore_errors=True)
    (sources / "marius_lite/device/__pycache__").mkdir()
    (sources / "marius_lite/device/__pycache__/links.cpython-311.pyc").write_bytes(b"x")
    (sources / "csrc/bind/io.cpp").write_text("another floor")
    (sources / "marius_lite/device/verified.py").write_text('GPUS = ("NVIDIA H200",)')
    assert check.sources.source_hash(sources) == first


@pytest.mark.parametrize("name", ["csrc/cuda/api.h", "csrc/cuda/kernels.cu", "csrc/bind/cuda.cpp", "marius_lite/device/links.py"])
def test_the_hash_changes_with_a_file(check, sources, name):
    first = check.sources.source_hash(sources)
    (sources / name).write_text("changed")
    changed = check.sources.source_hash(sources)
    (sources / name).rename((sources / name).with_name("renamed" + Path(name).suffix))
    assert len({first, changed, check.sources.source_hash(sources)}) == 3


def test_the_checkout_has_a_hash(check):
    assert check.sources.source_hash(ROOT) != check.sources.source_hash(ROOT / "tests")


def test_an_unknown_part_is_refused():
    done = subprocess.run([sys.executable, SCRIPT, "bench", "--only", "gpu_flight"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "gpu_flight" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_training_needs_data():
    done = subprocess.run([sys.executable, SCRIPT, "train"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "--data" in done.stderr


def test_agreement_is_found_out_before_anything_is_measured(check):
    phases = [part.phase for part in check.parts.all_parts(Path("data"))]
    assert list(dict.fromkeys(phases)) == ["build", "test", "agree", "bench", "train"]
    assert phases == sorted(phases, key=list(check.parts.PHASES).index)


def test_the_sweep_of_gathers_is_a_part_beside_the_others(check):
    parts = [part for part in check.parts.all_parts(None) if part.is_called("gpu_gather")]
    assert [(part.name, part.phase, "--sweep" in part.command) for part in parts] == [
        ("gpu_gather", "bench", False),
        ("gpu_gather sweep", "bench", True),
    ]


def test_the_data_is_found_from_everywhere(check, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert str(tmp_path / "data") in check.parts.all_parts(Path("data"))[-1].command


def test_tests_are_counted_once(check):
    tests = {}
    for name, result in (("a", "passed"), ("b", "passed"), ("b", "failed"), ("c", "failed"), ("c", "passed"), ("d", "skipped")):
        check.record.note_test(tests, {"test": name, "result": result})
    assert check.record.counts(tests) == {"tests passed": 1, "tests failed": 2, "tests skipped": 1}


@pytest.mark.parametrize(
    ("results", "code", "outcome"),
    [
        (["passed", "skipped"], 0, "done"),
        (["passed", "failed"], 1, "failed: 1 tests failed"),
        (["skipped"], 0, "failed: no test ran on the GPU"),
        ([], 4, "failed: exit code 4; no such option; no test ran on the GPU"),
        (["passed"], -11, "failed: killed by signal 11; no such option"),
        (["passed"], 9, "failed: memcheck found errors"),
    ],
)
def test_tests_fail_unless_they_pass_on_the_gpu(check, results, code, outcome):
    part = check.parts.Part("memcheck", "test", (), {"A": "B"}, on_gpu=True)
    told = check.parts.Told(lambda line: None)
    for k, result in enumerate(results):
        told.out(json.dumps({"test": f"test {k}", "result": result}))
    told.err("no such option")
    told.err("")
    assert told.outcome(part, code) == outcome


FACTS = {"gpu": "NVIDIA Test", "driver": "1.2", "hash": "a"}
FIGURE = {"figure": "gather", "value": 0.97, "unit": "", "goal": 0.95, "better": "more", "detail": "8 SMs", "pass": True}


def run_of(part, *figures, outcome="done", **more):
    """The lines of a part's run; without an end where ``outcome`` is none."""
    lines = [{"kind": "begin", **FACTS}, *({"kind": "figure", **figure} for figure in figures)]
    lines += [{"kind": "end", "outcome": outcome, "seconds": 1, **more}] if outcome else []
    return [{**line, "hash": "a", "part": part} for line in lines]


def test_a_record_only_grows_and_its_newest_lines_count(check, tmp_path):
    record, seen = check.record.Record(tmp_path / "new" / "folder", "NVIDIA H100 80GB (test)"), b""
    assert record.path.name == "nvidia-h100-80gb-test.jsonl"
    assert record.lines() == []
    better = {**FIGURE, "value": 0.99}
    for line in [*run_of("gpu_gather", FIGURE, outcome="cut"), *run_of("gpu_gather", better), *run_of("gpu_pin", outcome=None)]:
        record.add(line)
        assert record.path.read_bytes().startswith(seen)
        seen = record.path.read_bytes()
    found = check.record.found_of(record.lines(), "a")
    assert found["gpu_gather"].figures["gather"]["value"] == 0.99
    assert found["gpu_gather"].ended
    assert not found["gpu_pin"].ended
    assert check.record.found_of(record.lines(), "b") == {}


@pytest.mark.parametrize("cut", range(1, 40, 4))
def test_a_line_that_a_power_cut_has_torn_is_passed_over(check, tmp_path, cut):
    first = check.record.Record(tmp_path, "gpu")
    for line in run_of("gpu_gather", FIGURE):
        first.add(line)
    whole = first.path.read_bytes()
    first.path.write_bytes(whole[:-cut])
    again = check.record.Record(tmp_path, "gpu")
    again.add({"kind": "note"})
    assert again.lines()[-1] == {"kind": "note"}
    assert again.lines()[:-1] == [json.loads(line) for line in whole.splitlines()[: -1 if cut > 1 else None]]
    assert again.path.read_bytes().startswith(whole[:-cut])


def test_a_record_reads_as_a_table(check):
    missed = {**FIGURE, "figure": "pinning", "value": 2.0, "goal": 3.0, "pass": False, "detail": "a|b"}
    tests = [{"kind": "test", "hash": "a", "part": "test_gpu", "test": "t.py::test_x", "result": "failed"}]
    lines = [*run_of("test_gpu", outcome=None), *tests, *run_of("gpu_gather", FIGURE, missed, outcome="time was up")]
    told = check.record.describe(FACTS, check.record.found_of(lines, "a"))
    assert "# NVIDIA Test" in told
    assert "| driver | 1.2 |" in told
    assert "## test_gpu\n\n- outcome: not ended\n- tests passed: 0\n- tests failed: 1\n" in told
    assert "- failed: t.py::test_x" in told
    assert "- outcome: time was up\n- seconds: 1" in told
    assert "| gather | 0.97 | ≥ 0.95 | pass | 8 SMs |" in told
    assert "| pinning | 2 | ≥ 3 | MISS | a\\|b |" in told


def test_a_page_is_written_whole_or_not_at_all(check, tmp_path):
    record = check.record.Record(tmp_path, "gpu")
    page = record.write_page("old")
    with pytest.raises(TypeError):
        record.write_page(None)
    assert page.read_text() == "old"
    assert record.write_page("new").read_text() == "new"
    assert list(tmp_path.iterdir()) == [page]


def test_a_gpu_is_proven_by_tests_and_agreement(check):
    def proven(**changed):
        runs = {
            "test_library": run_of("test_library", **{"tests passed": 5}),
            "test_gpu": run_of("test_gpu", **{"tests passed": 5}),
            "test_compiled": run_of("test_compiled"),
            "memcheck": run_of("memcheck"),
            "gpu_agreement": run_of("gpu_agreement", FIGURE, {**FIGURE, "figure": "MRR", "goal": None, "pass": None}),
            **changed,
        }
        return check.record.proven(check.record.found_of([line for run in runs.values() for line in run], "a"))

    assert proven()
    assert proven(memcheck=[])
    assert not proven(gpu_agreement=[])
    assert not proven(test_gpu=[])
    assert not proven(test_library=run_of("test_library", outcome="failed: 1 tests failed", **{"tests passed": 5}))
    assert not proven(test_gpu=run_of("test_gpu", **{"tests passed": 0}))
    assert not proven(test_compiled=run_of("test_compiled", outcome="failed: 1 tests failed"))
    assert not proven(memcheck=run_of("memcheck", outcome="failed: memcheck found errors"))
    assert not proven(racecheck=run_of("racecheck", outcome="cut"))
    missed = run_of("gpu_agreement", FIGURE, {**FIGURE, "figure": "losses", "pass": False})
    assert not proven(gpu_agreement=missed)
    assert not proven(gpu_agreement=run_of("gpu_agreement", FIGURE, outcome="time was up"))
    assert not proven(gpu_agreement=[*run_of("gpu_agreement", FIGURE), *run_of("gpu_agreement", outcome=None)])
    assert proven(gpu_agreement=[*missed, *run_of("gpu_agreement", FIGURE)])


def test_what_outlasts_its_time_is_killed_with_all_that_it_started(check, tmp_path):
    started = (
        "import subprocess, sys; print(subprocess.Popen(['sleep', '60']).pid, flush=True); print('half', end='', flush=True)"
    )
    said = []
    command = (sys.executable, "-c", f"{started}; import time; time.sleep(60)")
    end = check.process.time.monotonic() + 2
    assert check.process.follow(command, dict(check.process.os.environ), tmp_path, end, said.append, print) is None
    assert said[1:] == ["half"]
    assert gone(int(said[0]))


def test_what_a_command_leaves_behind_is_ended(check, tmp_path):
    started = "import subprocess; print(subprocess.Popen(['sleep', '60']).pid); raise SystemExit(7)"
    said, end = [], check.process.time.monotonic() + 60
    command = (sys.executable, "-c", started)
    assert check.process.follow(command, dict(check.process.os.environ), tmp_path, end, said.append, print) == 7
    assert check.process.time.monotonic() < end - 30
    assert gone(int(said[0]))


def gone(number):
    """Whether a process has ended, now or soon; one that nobody has waited for yet has."""
    for _ in range(100):
        try:
            status = Path(f"/proc/{number}/stat").read_text()
        except OSError:
            return True
        if status.rpartition(")")[2].split()[0] in "ZX":
            return True
        subprocess.run(["sleep", "0.05"], check=True)
    return False


TESTS = """
import os, pytest
def test_a(): print("{}")
@pytest.mark.parametrize("x", [1, 2])
def test_b(x): assert x == 1
@pytest.fixture
def broken():
    yield
    raise ValueError
def test_c(broken): pass
def test_d(): pytest.skip("no")
def test_e(): os.{end}
def test_f(): pass
"""


@pytest.mark.parametrize("end", ["getpid()", "abort()"])
def test_every_test_is_told_when_it_has_run(check, tmp_path, capsys, end):
    (tmp_path / "test_it.py").write_text(TESTS.replace("{end}", end))
    record, facts = check.record.Record(tmp_path, "gpu"), FACTS
    part = check.parts.Part("test_gpu", "test", (*check.parts.PYTEST, "--rootdir", str(tmp_path), str(tmp_path)), on_gpu=True)
    outcome = check.parts.run_part(part, record, facts, 60, check.process.time.monotonic() + 60)
    found = check.record.found_of(record.lines(), "a")["test_gpu"]
    results = {re.sub(".*::", "", test): result for test, result in found.tests.items()}
    expected = {"test_a": "passed", "test_b[1]": "passed", "test_b[2]": "failed", "test_c": "failed", "test_d": "skipped"}
    if end == "abort()":
        assert results == expected
        assert found.end["ended in"].endswith("::test_e")
        assert outcome.startswith("failed")
        assert found.end["tests passed"] == 2
    else:
        assert results == {**expected, "test_e": "passed", "test_f": "passed"}
        assert outcome == "failed: 2 tests failed"
        assert "ended in" not in found.end
        assert found.end["tests passed"] == 4


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
    facts = check.machine.machine_facts
    monkeypatch.setattr(facts, "gpus", list)
    folder = tmp_path / "0000:1b:00.0"
    folder.mkdir()
    if speed:
        for which in ("current", "max"):
            (folder / f"{which}_link_speed").write_text(speed + "\n")
            (folder / f"{which}_link_width").write_text(width + "\n")
    assert facts.link("00000000:1B:00.0", tmp_path) == facts.link("0000:1b:00.0", tmp_path) == told
