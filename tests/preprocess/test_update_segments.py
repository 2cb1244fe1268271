"""Small updates append segments and share the rest; what is read is what a dataset of all edges at once has."""

import numpy as np
import pytest
from preprocess_tools import make
from test_update import KINDS, as_text, check_same, figures, weighted

import marius_lite
from marius_lite.errors import UserError
from marius_lite.graph import Dataset
from marius_lite.graph.report import read_report
from marius_lite.preprocess.repartition import repartition_dataset
from marius_lite.preprocess.updating import appended

MORE = {
    **KINDS,
    "duplicates dropped": ({"drop_duplicates": True}, "%d\t%d\t%d"),
    "several lists": ({"adjacency": "in", "columns": "src,rel,dst,weight"}, "%d\t%d\t%d\t%d"),
}
UPDATES = 10


def parts_of(seed, first=4000, each=60):
    """Edges, then smaller parts with a few new nodes each and sometimes a new relation."""
    rng = np.random.default_rng(seed)
    sizes = [first] + [each] * UPDATES
    return [rng.integers(0, (60 + 2 * n, 3 + n // 5, 60 + 2 * n), (size, 3)) for n, size in enumerate(sizes)]


@pytest.mark.parametrize("kind", MORE)
def test_ten_updates_of_all_splits(tmp_path, kind):
    options, template = MORE[kind]
    reading = {name: value for name, value in options.items() if name == "columns"}
    files = []
    for n, rows in enumerate(parts_of(3)):
        cut = [len(rows) * 8 // 10, len(rows) * 9 // 10]
        split = np.split(weighted(rows, template), cut)
        files.append([as_text(tmp_path / f"{name}{n}", part, template) for name, part in zip(("e", "v", "t"), split)])
    edges, valid, test = (list(each) for each in zip(*files))
    make(tmp_path / "grown", edges[0], valid=valid[0], test=test[0], partitions=3, **options)
    most = 0
    for n in range(1, UPDATES + 1):
        grown = marius_lite.update_dataset(tmp_path / "grown", edges[n], valid=valid[n], test=test[n], **reading)
        most = max(most, len(grown.edges("train").segments))
    assert most >= 2
    assert grown.partitioning.partitions > 3
    whole = make(tmp_path / "whole", edges, valid=valid, test=test, partitions=3, **options)
    check_same(grown, whole)
    told, expected = (read_report(each.path)["edges"] for each in (grown, whole))
    assert told == expected


def test_what_stays_is_the_same_file_and_is_not_written(tmp_path):
    parts = [as_text(tmp_path / str(n), rows) for n, rows in enumerate(parts_of(5))]
    first = make(tmp_path / "d", parts[0], partitions=2, adjacency="in")
    grown = marius_lite.update_dataset(tmp_path / "d", parts[1])
    assert [each.name for each in grown.manifest.segments["train"]] == ["", "2"]
    assert [each.nodes for each in grown.manifest.names] == [first.manifest.nodes, grown.manifest.nodes]
    for name in ("edges/train/src/c/0", "edges/train/bucket_offsets/c/0", "adjacency/in/sources/c/0", "nodes.parquet"):
        assert (first.path / name).samefile(grown.path / name)
    again = marius_lite.update_dataset(tmp_path / "d", parts[2])
    assert [each.name for each in again.manifest.segments["train"]] == ["", "3"]  # version 2's few edges were written with these
    assert not (again.path / "edges/train/2").exists()


def test_a_removal_makes_one_segment_again(tmp_path):
    parts = [as_text(tmp_path / str(n), rows) for n, rows in enumerate(parts_of(6))]
    make(tmp_path / "d", parts[0], partitions=2)
    marius_lite.update_dataset(tmp_path / "d", parts[1])
    grown = marius_lite.update_dataset(tmp_path / "d", parts[2], remove=parts[3])
    assert grown.manifest.segments is None
    grown.verify()
    more = marius_lite.update_dataset(tmp_path / "d", parts[4])
    assert more.manifest.segments is not None
    kept = [line for part in parts[:2] for line in part.read_text().splitlines()]
    gone = set(parts[3].read_text().splitlines())
    rest = [line for line in kept if line not in gone] + parts[2].read_text().splitlines() + parts[4].read_text().splitlines()
    (tmp_path / "rest").write_text("\n".join(rest) + "\n")
    whole = make(tmp_path / "whole", tmp_path / "rest", partitions=2)
    assert figures(more)["edges"] == figures(whole)["edges"]


def test_too_many_related_edges_are_written_again(tmp_path, monkeypatch):
    parts = [as_text(tmp_path / str(n), rows) for n, rows in enumerate(parts_of(7))]
    make(tmp_path / "d", parts[0], partitions=2)
    make(tmp_path / "whole", parts[:2], partitions=2)
    monkeypatch.setattr(appended, "RELATED_BYTES", 1 << 30)
    grown = marius_lite.update_dataset(tmp_path / "d", parts[1])
    assert grown.manifest.segments is None
    check_same(grown, Dataset.open(tmp_path / "whole"))


def test_repartition_makes_one_segment(tmp_path):
    parts = [as_text(tmp_path / str(n), rows) for n, rows in enumerate(parts_of(8))]
    make(tmp_path / "d", parts[0], partitions=2, adjacency="in")
    grown = marius_lite.update_dataset(tmp_path / "d", parts[1])
    assert len(grown.edges("train").segments) == 2
    other = repartition_dataset(tmp_path / "d", tmp_path / "other", 5)
    assert other.manifest.segments is other.manifest.names is None
    check_same(other, grown)


@pytest.mark.parametrize("column", ["src", "dst", "rel"])
def test_a_changed_bit_in_a_later_segment_is_noticed(tmp_path, column):
    parts = [as_text(tmp_path / str(n), rows) for n, rows in enumerate(parts_of(9))]
    make(tmp_path / "d", parts[0], partitions=2)
    grown = marius_lite.update_dataset(tmp_path / "d", parts[1])
    file = grown.path / "edges/train/2" / column / "c/0"
    data = bytearray(file.read_bytes())
    data[0] ^= 1
    file.write_bytes(data)
    edges = Dataset.open(tmp_path / "d").edges("train")
    with pytest.raises(UserError, match=rf"train/2/{column}: bucket \(0, 0\) does not match its checksum"):
        edges.read(0, 0)
    with pytest.raises(UserError, match="does not match its checksum"):
        list(edges.block(range(2), range(2), 100, ("dst", "src", "rel")))
    with pytest.raises(UserError, match="does not match its checksum"):
        Dataset.open(tmp_path / "d").verify()
