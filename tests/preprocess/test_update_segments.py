"""Small updates append segments and share the rest; what is read is what a dataset of all edges at once has."""

import tracemalloc
from collections import Counter

import numpy as np
import pytest
from preprocess_tools import decoded, make
from test_update import KINDS, as_text, check_same, lists, weighted

import marius_lite
from marius_lite.errors import UserError
from marius_lite.graph import Dataset
from marius_lite.graph.kept import KeptEdges
from marius_lite.graph.manifest import HOLED, SEGMENTED, read_manifest
from marius_lite.graph.report import read_report
from marius_lite.preprocess.disk.passes import size_and_checksum
from marius_lite.preprocess.repartition import repartition_dataset
from marius_lite.preprocess.updating import appended
from marius_lite.storage.flat import read_array_range

MORE = {
    **KINDS,
    "duplicates dropped": ({"drop_duplicates": True}, "%d\t%d\t%d"),
    "several lists": ({"adjacency": "in", "columns": "src,rel,dst,weight"}, "%d\t%d\t%d\t%d"),
}
UPDATES = 10
# Those that also remove go the same way, so most kinds are left to `-m slow` here.
SOME = [kind if kind in ("integers", "several lists") else pytest.param(kind, marks=pytest.mark.slow) for kind in MORE]
# The others are removed as one of these is: names as those of weights, integers where duplicates are dropped, lists with weights.
REMOVED = ("undirected", "duplicates dropped")


def parts_of(seed, first=4000, each=60):
    """Edges, then smaller parts with a few new nodes each and sometimes a new relation."""
    rng = np.random.default_rng(seed)
    sizes = [first] + [each] * UPDATES
    return [rng.integers(0, (60 + 2 * n, 3 + n // 5, 60 + 2 * n), (size, 3)) for n, size in enumerate(sizes)]


@pytest.mark.parametrize("kind", SOME)
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


def key_of(line, kind):
    """What tells an edge that is removed from others."""
    src, rel, dst, *_ = line.split("\t")
    rel = "" if kind == "no relations" else rel
    return (min(src, dst), rel, max(src, dst)) if kind == "undirected" else (src, rel, dst)


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=[] if kind in REMOVED else [pytest.mark.slow]) for kind in MORE])
def test_ten_updates_that_also_remove(tmp_path, kind):
    options, template = MORE[kind]
    reading = {name: value for name, value in options.items() if name == "columns"}
    rng, left = np.random.default_rng(4), {"e": [], "v": [], "t": []}
    formats, most, back = set(), 0, []
    for n, rows in enumerate(parts_of(5)):
        gone = None
        if n in (2, 3, 5, 6, 9, 10):  # edges that the 6th removes come back with the 7th, and are removed again by the 9th
            every = sorted(line for lines in left.values() for line in lines)
            named = [*(every[place] for place in rng.integers(0, len(every), 25)), *(back if n == 9 else [])]
            back = named if n == 6 else back
            gone = tmp_path / f"gone{n}"
            gone.write_text("\n".join(named) + "\n")
            keys = {key_of(line, kind) for line in named}
            left = {name: [line for line in lines if key_of(line, kind) not in keys] for name, lines in left.items()}
        cut = [len(rows) * 8 // 10, len(rows) * 9 // 10]
        split = np.split(weighted(rows, template), cut)
        if n == 7:
            split[0] = np.concatenate([split[0], weighted(np.array([key_row(line) for line in back], int), template)])
        files = {name: as_text(tmp_path / f"{name}{n}", part, template) for name, part in zip(left, split)}
        for name, file in files.items():
            left[name] += file.read_text().splitlines()
        if n == 0:
            make(tmp_path / "grown", files["e"], valid=files["v"], test=files["t"], partitions=3, **options)
            continue
        given = {"remove": gone} if gone else {}
        grown = marius_lite.update_dataset(tmp_path / "grown", files["e"], valid=files["v"], test=files["t"], **given, **reading)
        formats.add(grown.manifest.format_version)
        most = max(most, len(grown.edges("train").segments))
    assert most >= 2
    assert max(formats) == HOLED
    for name, lines in left.items():
        (tmp_path / f"left-{name}").write_text("\n".join(lines) + "\n")
    whole = make(
        tmp_path / "whole", tmp_path / "left-e", valid=tmp_path / "left-v", test=tmp_path / "left-t", partitions=3, **options
    )
    check_removed(grown, whole, options.get("drop_duplicates", False))


def check_ways_to_read(edges):
    """Buckets together, in any order, and in pieces have what they have one by one."""
    p = edges.partitioning.partitions
    buckets = [(i, j) for i in range(p) for j in range(p)]
    one_by_one = {bucket: np.stack(edges.read(*bucket)) for bucket in buckets}
    np.random.default_rng(p).shuffle(buckets)
    together = np.empty((3, edges.total), np.uint32)
    assert edges.read_into(buckets, *together) == edges.total
    assert (together == np.concatenate([one_by_one[bucket] for bucket in buckets], 1)).all()
    if "weight" in edges.columns:
        check_weights(edges, buckets, together)
    pieces = list(edges.block(range(p), range(p), 50, ("src", "dst", "rel")))
    assert sum(len(piece.columns[0]) for piece in pieces) == edges.total
    flat = np.concatenate([piece.bucket_of_each() for piece in pieces])
    columns = np.concatenate([np.stack(piece.columns) for piece in pieces], 1)
    for (i, j), expected in one_by_one.items():
        assert (columns[:, flat == i * p + j] == expected).all()
    firsts = [(first, len(columns[0])) for first, columns in edges.pieces(70)]
    assert [first for first, _ in firsts] == np.cumsum([0, *(count for _, count in firsts)])[:-1].tolist()


def check_weights(edges, buckets, expected):
    """They come with their edges: from disk, and from memory."""
    apart = [next(edges.stream_columns(i, j, edges.total, ["weight"])) for i, j in buckets if edges.counts[i, j]]
    for source in (edges, KeptEdges(edges, weighed=True)):
        together, weights = np.empty((3, edges.total), np.uint32), np.empty(edges.total, np.float32)
        assert source.read_into(buckets, *together, weights) == edges.total
        assert (together == expected).all()
        assert (weights == np.concatenate(apart, 1)[0]).all()


def key_row(line):
    """The numbers of an edge's first three columns."""
    return ["".join(filter(str.isdigit, part)) for part in line.split("\t")[:3]]


def check_removed(grown, whole, dropped):
    """What two datasets have is the same, but for nodes without edges, and how many duplicates were ever ``dropped``."""
    grown.verify()
    for split in whole.manifest.edges:
        assert decoded(grown, split) == decoded(whole, split)
        check_ways_to_read(grown.edges(split))
    assert set(whole.raw_ids(0, whole.manifest.nodes).to_pylist()) <= set(grown.raw_ids(0, grown.manifest.nodes).to_pylist())
    told, expected = (read_report(each.path)["edges"] for each in (grown, whole))
    for of_split in (*told.values(), *expected.values()):
        if dropped:
            of_split.pop("duplicates")
        of_split.pop("unseen_nodes", None)
    assert told == expected
    assert grown.manifest.self_loops == whole.manifest.self_loops
    if whole.adjacency is not None:
        found = lists(grown)
        assert {node: each for node, each in found.items() if each} == {node: each for node, each in lists(whole).items() if each}
    out, into, splits = (
        read_array_range(grown.path / "counts" / name, 0, grown.manifest.nodes) for name in ("out", "in", "splits")
    )
    names = grown.raw_ids(0, grown.manifest.nodes).to_pylist()
    degrees = [Counter(), Counter()]
    marks = Counter()
    for bit, split in enumerate(grown.manifest.edges):
        for (src, _, dst), count in decoded(grown, split).items():
            marks[src] |= 1 << bit
            marks[dst] |= 1 << bit
            if bit == 0:
                degrees[0][src] += count
                degrees[1][dst] += count
    for place, name in enumerate(names):
        assert (degrees[0][name], degrees[1][name], marks[name]) == (out[place], into[place], splits[place])


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


def test_counts_of_partitions_without_new_edges_stay(tmp_path):
    np.save(tmp_path / "e.npy", np.random.default_rng(0).integers(0, 300, (2000, 2)))
    first = make(tmp_path / "d", tmp_path / "e.npy", partitions=8)
    np.save(tmp_path / "new.npy", np.array([first.raw_ids(0, 2).to_pylist()]))
    grown = marius_lite.update_dataset(tmp_path / "d", tmp_path / "new.npy")
    for name, more in (("out", [1, 0]), ("in", [0, 1]), ("splits", [0, 0])):
        files = [f"counts/{name}/c/{k}" for k in range(8)]
        assert [(first.path / file).samefile(grown.path / file) for file in files] == [False, *[True] * 7]
        before, after = (read_array_range(each.path / "counts" / name, 0, 300).astype(int) for each in (first, grown))
        assert (after - before).tolist() == [*more, *[0] * 298]


def test_a_removal_leaves_the_files_and_many_write_all_again(tmp_path):
    parts = [as_text(tmp_path / str(n), rows) for n, rows in enumerate(parts_of(6))]
    make(tmp_path / "d", parts[0], partitions=2, adjacency="in")
    before = marius_lite.update_dataset(tmp_path / "d", parts[1])
    lines = parts[0].read_text().splitlines()
    (tmp_path / "few").write_text("\n".join(lines[:5]) + "\n")
    (tmp_path / "many").write_text("\n".join(lines[:900]) + "\n")
    few = marius_lite.update_dataset(tmp_path / "d", remove=tmp_path / "few")
    for name in (
        "edges/train/src/c/0",
        "edges/train/2/src/c/0",
        "edges/train/bucket_checksums/c/0/0",
        "adjacency/in/sources/c/0",
    ):
        assert (before.path / name).samefile(few.path / name)
    assert (few.manifest.format_version, before.manifest.format_version) == (HOLED, SEGMENTED)
    same = marius_lite.update_dataset(tmp_path / "d", parts[2])  # holes of a segment that stays are shared
    assert (few.path / "edges/train/holes/places/c/0").samefile(same.path / "edges/train/holes/places/c/0")
    assert (few.path / "adjacency/in/holes/places/c/0").samefile(same.path / "adjacency/in/holes/places/c/0")
    many = marius_lite.update_dataset(tmp_path / "d", parts[3], remove=tmp_path / "many")
    assert many.manifest.segments is None
    assert not (many.path / "edges/train/holes").exists()
    gone = set(lines[:900])
    rest = [line for part in parts[:3] for line in part.read_text().splitlines() if line not in gone]
    (tmp_path / "rest").write_text("\n".join(rest + parts[3].read_text().splitlines()) + "\n")
    check_removed(many, make(tmp_path / "whole", tmp_path / "rest", partitions=2, adjacency="in"), False)


@pytest.mark.parametrize("folder", ["edges/train", "adjacency/in"])
def test_a_hole_in_another_place_is_noticed(tmp_path, folder):
    parts = [as_text(tmp_path / str(n), rows) for n, rows in enumerate(parts_of(9))]
    make(tmp_path / "d", parts[0], partitions=2, adjacency="in")
    (tmp_path / "gone").write_text(parts[0].read_text().splitlines()[7] + "\n")
    place = marius_lite.update_dataset(tmp_path / "d", remove=tmp_path / "gone").path
    holes = np.fromfile(place / folder / "holes/places/c/0", np.int64)
    rewrite(place, f"{folder}/holes/places/c/0", holes - 1 if holes[-1] else holes + 1)
    with pytest.raises(UserError, match=r"relation|holes"):
        Dataset.open(tmp_path / "d").verify()


def rewrite(dataset, name, values):
    """Change a file as a program that writes wrong bytes would: the manifest has its checksum."""
    (dataset / name).write_bytes(values.tobytes())
    manifest = read_manifest(dataset)
    entry = size_and_checksum(dataset / name)
    (dataset / "zarr.json").write_bytes(
        manifest.model_copy(update={"files": manifest.files | {name: entry}}).sealed().root_json()
    )


@pytest.mark.parametrize("columns", [None, "src,rel,dst,weight"])
def test_merging_lists_takes_what_is_planned(tmp_path, columns):
    rng = np.random.default_rng(1)
    rows = rng.integers(0, (4000, 3, 4000, 5), (240_000, 4))[:, : 4 if columns else 3]
    parts = np.split(rows, [200_000, 233_000])
    for n, part in enumerate(parts):
        np.save(tmp_path / f"{n}.npy", part)
    np.save(tmp_path / "gone.npy", rows[:2000])
    given = {"columns": columns} if columns else {}
    make(tmp_path / "d", tmp_path / "0.npy", partitions=2, adjacency="in", **given)
    marius_lite.update_dataset(tmp_path / "d", tmp_path / "1.npy", **given)
    grown = marius_lite.update_dataset(tmp_path / "d", tmp_path / "2.npy", remove=tmp_path / "gone.npy", **given)
    assert len(grown.edges("train").segments) == 3
    lists, weights = grown.adjacency, columns is not None
    planned = int(lists.held.max()) * lists.edge_bytes(weights) + 8 * (grown.partitioning.rows + 1) + lists.merging_bytes(weights)
    lists.read(0, weights)  # what is read once
    tracemalloc.start()
    for k in range(grown.partitioning.partitions):
        lists.read(k, weights)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert planned / 4 < most < planned + 2**20, (most, planned)


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
