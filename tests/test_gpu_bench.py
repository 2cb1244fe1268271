"""Every GPU benchmark at tiny sizes on the emulated accelerator: it runs, and tells every figure as soon as it is found."""

import importlib
import json
import sys
from pathlib import Path

import host_benchmarks
import numpy as np
import pytest
import torch
from host_benchmarks import BENCH, QUICK, ROOT, goals

library, result = host_benchmarks.library, host_benchmarks.result


def test_paths(result):
    figures = result("gpu_paths", "--table", "4MiB", "--batch-bytes", "16KiB", "--sms", 2)
    ratios = [name for name in figures if name.endswith("the choice / best")]
    assert len(ratios) == 4 * 5 == len(goals(figures))
    for name in ratios:
        assert (figures[name]["better"], figures[name]["goal"]) == ("less", 1.1)
        assert figures[name]["value"] >= 1
        assert [part.split()[0] for part in figures[name]["detail"].split(", ")][:3] == ["zero_copy", "staged", "bulk"]


def test_overlap(result):
    figures = result("gpu_overlap", "--batch", 40, "--dim", 8, "--chunks", 2, "--negatives", 10, "--buffer", "2MiB", "--sms", 2)
    slowdown = "slowdown of a step by the next one's gather"
    assert set(figures) == {"training step alone", "gather of a batch's rows alone", slowdown}
    assert goals(figures) == {slowdown: ("less", 0.05)}


def test_pin(result):
    figures = result("gpu_pin", "--size", "8MiB")
    assert goals(figures) == {
        "cudaHostAlloc / pinning the buffer": ("more", 3),
        "resident memory taken / asked for": ("less", 1.01),
    }
    assert {"pinning the buffer, first touch included", "cudaHostAlloc"} <= set(figures)


def test_link_prediction(result, tmp_path):
    figures = result(
        "gpu_link_prediction",
        "--work",
        tmp_path,
        "--device",
        "cpu",
        "--batch",
        100,
        "--dim",
        8,
        "--chunks",
        2,
        "--negatives",
        10,
        "--batches",
        3,
        "--nodes",
        500,
        "--disk-nodes",
        500,
        "--disk-edges",
        1500,
        "--disk-file",
        "1MiB",
    )
    assert goals(figures) == {
        "in memory, auto / plain torch": ("more", 3),
        "epoch with rows on disk / longer of the two bounds": ("less", 1.1),
    }
    assert {f"in memory, {path}" for path in ("zero_copy", "staged", "bulk", "auto")} <= set(figures)
    assert figures["bytes of an epoch with rows on disk / disk rate"]["value"] > 0
    assert not list(tmp_path.iterdir())


def test_gnn(result, tmp_path):
    pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")
    figures = result(
        "gpu_gnn",
        "--work",
        tmp_path,
        "--device",
        "cuda",
        "--peer-device",
        "cpu",
        "--nodes",
        400,
        "--edges",
        1500,
        "--batch",
        10,
        "--batches",
        4,
        "--fanouts",
        "3,2",
        "--workers",
        0,
        "--partitions",
        4,
    )
    assert goals(figures) == {
        "ours, auto / peer": ("more", 2),
        "a batch with hot rows held / with all rows in device memory": ("less", 1.15),
    }
    drawn = ("neighbours drawn by the CPU", "neighbours drawn by the GPU")
    rates = ("peer", *(f"ours, {path}" for path in ("zero_copy", "staged", "bulk", "auto", "zero_copy, hot rows held", *drawn)))
    rates += tuple(f"{name}, nothing else" for name in drawn)
    assert all(figures[name]["value"] > 0 for name in rates)
    assert "DataLoader" in figures["peer"]["detail"] or "NeighborLoader" in figures["peer"]["detail"]
    assert not list(tmp_path.iterdir())


def test_agreement(result):
    pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")
    sizes = "--nodes 160 --edges 2000 --dim 8 --batch 200 --negatives 20 --epochs 1"
    figures = result("gpu_agreement", "--device", "cuda", *sizes.split())
    for task, runs in (("", 6), ("GraphSAGE: ", 7)):
        same = figures[f"{task}runs on the GPU that end with the same bits"]
        assert same["value"] == same["goal"] == runs
        assert figures[f"{task}first 5 losses, largest difference to the CPU's"]["value"] == 0  # the emulation has the CPU's bits
    assert figures["filtered MRR, difference to the CPU's"]["value"] == 0
    assert figures["with dropout: runs that end with the same bits"]["value"] == 2
    assert figures["GraphSAGE, with dropout: runs that end with the same bits"]["value"] == 2


def test_fb15k(result, tmp_path):
    rng = np.random.default_rng(0)
    for split, count in (("train", 600), ("valid", 40), ("test", 40)):
        lines = (f"/m/{s}\trel{r}\t/m/{(s + r) % 60}\n" for s, r in rng.integers((60, 3), size=(count, 2)))
        (tmp_path / f"{split}.txt").write_text("".join(lines))
    sets = ("model.dim=8", "training.epochs=2", "negatives.count=10", "evaluation.every_epochs=1", "checkpoint.every_epochs=1")
    figures = result("gpu_fb15k", "--data", tmp_path, "--device", "cpu", *(part for each in sets for part in ("--set", each)))
    assert goals(figures) == {"filtered test MRR": ("more", 0.345), "training": ("less", 5)}
    assert 0 < figures["filtered test MRR"]["value"] <= 1


def test_profile(result, tmp_path):
    pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")
    data, work = tmp_path / "data", tmp_path / "work"
    data.mkdir()
    work.mkdir()
    for split in ("train", "valid", "test"):
        (data / f"{split}.txt").write_text("".join(f"{k}\t{k % 3}\t{(7 * k + 1) % 600}\n" for k in range(600)))
    figures = result(
        "gpu_profile", "--data", data, "--work", work, "--batches", 4, "--nodes", 400, "--edges", 1500, "--seeds", 10
    )
    names = ("1,000 edges", "10,000 edges", "50,000 edges", "GraphSAGE")
    assert all(figures[f"{name}: rate"]["value"] > 0 for name in names)
    assert all(figures[f"{name}: kernels seen by the profiler"]["value"] == 0 for name in names)  # an emulation launches none
    assert goals(figures) == {"1,000 edges: rate": ("more", 2.5e6), "10,000 edges: rate": ("more", 4e6)}
    assert not list(work.iterdir())


def test_what_a_profile_tells_of_the_spans(result, capsys):
    """Overlapping kernels count once in the time in which the GPU works; copies are no launches."""
    on_device, module = importlib.import_module("on_device"), importlib.import_module("gpu_profile")
    spans = [
        module.Span("k", 0, 400),
        module.Span("Memcpy HtoD", 100, 500),
        module.Span("k", 800, 900),
        module.Span("j", 900, 1000),
    ]
    module.tell("x", spans, 2e6, on_device.Report("gpu_profile", {}, True))
    _, *lines = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    found = {line["figure"]: line["value"] for line in lines}
    assert found["x: launches of kernels a batch"] == 1.5
    assert found["x: copies by the engine a batch"] == 0.5
    assert found["x: time in which the GPU works, profiled"] == pytest.approx(0.7)
    assert found["x: k"] == pytest.approx(0.25)


def test_a_figure_is_told_before_the_next_is_computed(result, monkeypatch, capsys):
    """However often the clock of gpu_gather is asked, all that was found before has been printed."""
    on_device = importlib.import_module("on_device")
    printed, added, at_clock = [], [], []
    add, alternately = on_device.Report.add, on_device.Clock.alternately

    def noted_add(report, figure, *values, **more):
        add(report, figure, *values, **more)
        added.append(figure)

    def noted_clock(clock, *works):
        printed.extend(json.loads(line).get("figure") for line in capsys.readouterr().out.splitlines())
        assert printed == [None, *added]  # the settings first
        at_clock.append(len(printed))
        return alternately(clock, *works)

    monkeypatch.setattr(on_device.Report, "add", noted_add)
    monkeypatch.setattr(on_device.Clock, "alternately", noted_clock)
    sizes = ("--buffer", "4MiB", "--transfer", "128KiB", "--batch", "100", "--sms", "2")
    importlib.import_module("gpu_gather").main([*QUICK, *sizes])
    assert at_clock == sorted(at_clock)
    assert len(set(at_clock)) > 10
    assert len(added) > max(at_clock) - 1


@pytest.mark.parametrize("as_json", [True, False])
def test_what_was_told_outlives_the_benchmark(as_json, forked):
    """A report's lines are not held back: the process that printed them was killed at once."""
    code = (
        f"import os, signal, sys\nsys.path.insert(0, {str(BENCH)!r})\nimport on_device\n"
        f"report = on_device.Report('b', {{'gpu': 'x'}}, {as_json})\n"
        "report.add('speed', 2, 'GB/s', at_least=3, detail='so')\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    process = forked(code)
    assert process.wait() == -9
    settings, figure = process.communicate()[0].splitlines()
    if as_json:
        assert json.loads(settings) == {"benchmark": "b", "settings": {"gpu": "x"}}
        expected = {"figure": "speed", "value": 2.0, "unit": "GB/s", "goal": 3, "better": "more", "detail": "so", "pass": False}
        assert json.loads(figure) == expected
    else:
        assert settings == "gpu x"
        assert figure.split() == ["speed", "2", "GB/s", ">=", "3:", "MISS", "so"]


@pytest.mark.parametrize("name", ["gpu_gnn", "gpu_link_prediction"])
def test_medians_of_some_rounds_say_how_many(name, monkeypatch, capsys):
    """They are told after every round, so that a benchmark that is cut has told something; the last are of all rounds."""
    monkeypatch.syspath_prepend(str(BENCH))
    on_device, module = importlib.import_module("on_device"), importlib.import_module(name)
    report = on_device.Report(name, {}, True)
    names = ("peer", *module.PATHS, module.CACHED) if name == "gpu_gnn" else ("plain torch", *module.PATHS)
    for done, rates in ((1, [4.0]), (2, [4.0, 8.0])):
        given = dict.fromkeys(names, rates)
        if name == "gpu_gnn":
            a = module.argparse.Namespace(cached=0.2)
            module.tell(a, report, given, "loader", on_device.so_far(done, 2))
        else:
            module.tell(report, given, on_device.so_far(done, 2))
    _, *lines = map(json.loads, capsys.readouterr().out.splitlines())
    first, last = lines[: len(lines) // 2], lines[len(lines) // 2 :]
    assert [line["figure"] for line in first] == [line["figure"] for line in last]
    assert all(line["detail"].endswith("1 of 2 rounds") for line in first)
    assert not any("rounds" in line["detail"] for line in last)
    assert {line["value"] for line in last} == {6.0, 1.0}


def test_without_a_gpu_a_benchmark_says_so(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(BENCH))
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    with pytest.raises(SystemExit) as ended:
        importlib.import_module("gpu_pin").main(QUICK)
    assert ended.value.code == 2
    assert "finds no CUDA device" in capsys.readouterr().err


def test_every_benchmark_is_checked_here_and_run_by_gpu_check():
    names = {path.stem for path in BENCH.glob("gpu_*.py")}
    said = "".join(path.read_text() for path in (ROOT / "scripts/gpu_check_parts").glob("*.py"))
    checked = "".join(path.read_text() for path in Path(__file__).parent.glob("test_gpu_bench*.py"))
    assert all(f'"{name}"' in said and f'"{name}"' in checked for name in names)
    assert "gpu_gather" in names
    assert not names & set(sys.builtin_module_names)
