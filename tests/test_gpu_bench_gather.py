"""What scripts/bench/gpu_gather.py tells, on the emulated accelerator, and what it holds gathers against."""

import importlib
from types import SimpleNamespace

import host_benchmarks
import numpy as np
import pytest
import torch
from host_benchmarks import BENCH, QUICK, goals

library, result = host_benchmarks.library, host_benchmarks.result


def test_gather(result):
    figures = result("gpu_gather", "--buffer", "4MiB", "--transfer", "128KiB", "--batch", 100, "--sms", 2)
    expected = {"gather: bytes/s of 400 B rows / of 512 B rows": ("more", 0.95)}
    for width in (256, 400, 512, 1024, 2048):
        expected[f"gather {width} B: multiprocessors used"] = ("less", 2)
        expected[f"scatter {width} B / best contiguous write"] = ("more", 0.85)
        expected[f"{width} B: x[idx].to(device) / zero-copy"] = ("more", 3)
        if width != 400:
            expected[f"gather {width} B / best contiguous read"] = ("more", 0.85 if width == 256 else 0.95)
        assert {
            f"gather {width} B / best contiguous read",
            f"gather and scatter {width} B at once / longer of the two alone",
            f"{width} B: CPU gather and copy / zero-copy",
            f"{width} B: CPU seconds saved by zero-copy",
            f"gather {width} B / copy engine",
        } <= set(figures)
    assert goals(figures) == expected
    assert figures["gather 512 B: multiprocessors used"]["pass"] is True
    assert {"contiguous kernel read, best", "contiguous kernel write, best", "copy engine, in", "copy engine, back"} <= set(
        figures
    )
    reads = [figures[name]["value"] for name in ("contiguous kernel read, best", "contiguous read by torch's own kernel, best")]
    rate = figures["gather 400 B / copy engine"]["value"] * figures["copy engine, in"]["value"]
    assert rate / figures["gather 400 B / best contiguous read"]["value"] == pytest.approx(max(reads))


def test_gathers_of_other_rows(result):
    figures = result("gpu_gather", "--buffer", "4MiB", "--transfer", "128KiB", "--sms", 2, "--sweep")
    widths = (64, 128, 256, 400, 512, 1024, 2048, 4096, 68, 404, 1004)
    for rows in (*(f"{width} B" for width in widths), "512 B from 4 B off"):
        for order in ("ascending", "in random order"):
            figure = figures[f"gather {rows} {order} / best contiguous read"]
            assert figure["value"] > 0
            assert "B pass a row" in figure["detail"]
        assert f"gather {rows} ascending / read of as many rows at equal distances, without ids" in figures
    assert "416 B pass a row" in figures["gather 400 B ascending / best contiguous read"]["detail"]
    assert sum(name.startswith("gather 512 B on") for name in figures) == 8


@pytest.fixture
def ceiling(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("link_ceiling")


@pytest.mark.parametrize(
    ("width", "offset"), [(64, 0), (68, 0), (400, 0), (404, 0), (512, 0), (512, 4), (1004, 0), (4, 0), (32, 16)]
)
def test_what_passes_for_a_row_is_what_its_bytes_touch(ceiling, width, offset):
    rows = [np.arange(offset + k * width, offset + (k + 1) * width) for k in range(256)]
    assert ceiling.passing(width, offset) == tuple(
        scale * np.mean([len(set(row // size)) for row in rows]) for size, scale in ((32, 32), (128, 1))
    )


def test_rows_of_whole_replies_pass_as_a_contiguous_read_does(ceiling):
    assert ceiling.described(512, 0, 0.97) == "512 B pass a row: 0.97 of the best read; with 20 B around each of 4 replies 0.97"
    assert ceiling.described(400, 0, 0.92).startswith("416 B pass a row: 0.96 of the best read")


def test_torch_is_given_the_mapped_buffer_and_may_not_copy_it(ceiling, monkeypatch):
    buffer = SimpleNamespace(bytes=np.zeros(64, np.uint8), pinned=SimpleNamespace(address=4096))
    gpu, given, taken = SimpleNamespace(device=torch.device("cuda:0")), [], iter([4096, 8192])

    def as_tensor(what, device):
        given.append((what.__cuda_array_interface__, device))
        return SimpleNamespace(data_ptr=lambda: next(taken))

    monkeypatch.setattr(torch, "as_tensor", as_tensor)
    ceiling.mapped(gpu, buffer)
    interface, device = given[0]
    assert device == gpu.device
    assert (interface["shape"], interface["typestr"], interface["data"]) == ((16,), "<i4", (4096, False))
    with pytest.raises(SystemExit, match="copied"):
        ceiling.mapped(gpu, buffer)


def test_more_than_half_of_the_memory_is_refused(result, monkeypatch):
    on_device = importlib.import_module("on_device")
    monkeypatch.setattr(on_device, "reachable_memory", lambda wanted: 1 << 30)
    assert on_device.require_memory(1 << 29) == 1 << 29
    with pytest.raises(SystemExit) as ended:
        importlib.import_module("gpu_gather").main([*QUICK, "--buffer", "513MiB"])
    said = "537,919,488 bytes of host memory are asked for, and 1,073,741,824 are available: ask for at most half of that"
    assert ended.value.code == said  # what Python prints to standard error; its exit code is 1 then
