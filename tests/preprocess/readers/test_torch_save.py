"""Graphs that torch.save wrote, read without torch and without running anything in them."""

import collections
import os
import zipfile

import numpy as np
import pytest
import torch
from preprocess_tools import decoded, make

from marius_lite.errors import UserError

PAIRS = np.random.default_rng(0).integers(0, 50, (20_000, 2))
EDGES = torch.from_numpy(PAIRS.T.copy())
EXPECTED = collections.Counter((s, "", d) for s, d in PAIRS.tolist())


def test_a_data_object(tmp_path):
    data = pytest.importorskip("torch_geometric.data").Data
    types = torch.arange(20_000) % 3
    torch.save(data(edge_index=EDGES, x=torch.rand(60, 2), edge_type=types), tmp_path / "g.pt")
    dataset = make(tmp_path / "d", tmp_path / "g.pt", memory="1MiB")
    assert decoded(dataset) == collections.Counter(zip(PAIRS[:, 0].tolist(), types.tolist(), PAIRS[:, 1].tolist()))
    assert sorted(dataset.raw_ids(0, 60).to_pylist()) == list(range(60))
    torch.save(data(edge_index=EDGES, num_nodes=70), tmp_path / "n.pt")
    assert make(tmp_path / "n", tmp_path / "n.pt").manifest.nodes == 70


@pytest.mark.parametrize(
    "saved",
    [
        EDGES,
        {"edge_index": EDGES.to(torch.int32)},
        torch.from_numpy(PAIRS).T,
        torch.cat([EDGES[:, :9], EDGES], 1)[:, 9:],
        ({"edge_index": EDGES}, None),
    ],
    ids=["tensor", "int32", "turned", "view", "tuple"],
)
def test_dicts_and_tensors(tmp_path, saved):
    torch.save(saved, tmp_path / "g.pt")
    assert decoded(make(tmp_path / "d", tmp_path / "g.pt", memory="1MiB")) == EXPECTED


class Evil:
    def __reduce__(self):
        return os.system, ("touch hit",)


@pytest.mark.parametrize(
    ("saved", "message"),
    [
        ({"edges": EDGES}, "no tensor edge_index"),
        ({"edge_index": EDGES.float()}, "whole numbers"),
        ({"edge_index": EDGES.T.contiguous()}, r"shape \(20000, 2\)"),
        ({"edge_index": EDGES[:, ::2]}, "strides"),
        ({"edge_index": EDGES, "edge_type": torch.arange(5)}, r"edge_type: shape \(5,\) where there are 20000"),
        ({"edge_index": -EDGES}, r"g\.pt: row \d+: (src|dst): negative id"),
        (({"edge_index": EDGES}, {"edge_index": torch.tensor([0, 9, 20_000])}), "a collection of graphs"),
        ([1, 2], "no tensor edge_index"),
        (Evil(), "no tensor edge_index"),
    ],
)
def test_what_is_no_graph(tmp_path, saved, message, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save(saved, tmp_path / "g.pt")
    with pytest.raises(UserError, match=message) as raised:
        make(tmp_path / "d", tmp_path / "g.pt")
    assert "\n" not in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["g.pt"]


def test_numbers_that_are_missing(tmp_path):
    torch.save({"edge_index": EDGES}, tmp_path / "whole.pt")
    with zipfile.ZipFile(tmp_path / "whole.pt") as whole, zipfile.ZipFile(tmp_path / "g.pt", "w") as cut:
        for info in whole.infolist():
            data = whole.read(info)
            cut.writestr(info.filename, data[:1000] if info.filename.endswith("data/0") else data)
    with pytest.raises(UserError, match="not all there"):
        make(tmp_path / "d", tmp_path / "g.pt")


@pytest.mark.parametrize(
    ("pickled", "message"),
    [
        (b"\x80\x02}r\xff\xff\xff\x1f.", r"not readable \(.*object 536870911 where there can be 3"),
        (b"\x80\x05\x96" + (1 << 40).to_bytes(8, "little") + b".", "not readable"),
        (b"\x80\x02]" + b"." * (5 << 20), "more than .* bytes beside its tensors"),
        (b"\x80\x02I" + b"9" * 5000 + b"\n.", "not readable"),
        (b"", "not readable"),
    ],
)
def test_pickles_that_would_take_memory_or_are_none(tmp_path, pickled, message):
    with zipfile.ZipFile(tmp_path / "g.pt", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("g/data.pkl", pickled)
    with pytest.raises(UserError, match=message) as raised:
        make(tmp_path / "d", tmp_path / "g.pt", memory="64MiB")
    assert "\n" not in str(raised.value)


def test_sizes_beyond_all_bounds(tmp_path):
    for key, value in (("num_nodes", 10**5000), ("num_nodes", -1)):
        torch.save({"edge_index": EDGES, key: value}, tmp_path / "g.pt")
        with pytest.raises(UserError, match="num_nodes"):
            make(tmp_path / "d", tmp_path / "g.pt")
