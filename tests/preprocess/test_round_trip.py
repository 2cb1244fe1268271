"""Any edges, any options: the dataset is the input, cleaned as asked, under a bijection of ids; nothing else shapes its bytes."""

import os
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from preprocess_tools import data_files, decoded, make

from marius_lite._native import hash_ints, hash_strings
from marius_lite.errors import UserError
from marius_lite.graph import verify_nodes
from marius_lite.graph.ids import hash_raw_ids, order_key, string_buffers
from marius_lite.preprocess import plan
from marius_lite.preprocess.disk import sort
from marius_lite.preprocess.ids import keys

NOT_IN_TEXT = "\t\r\n\ufeff"  # the last, at the start of a file, is no part of its text
DENSE = st.integers(0, 40)
SPARSE = st.integers(0, 2**63 - 1) | st.sampled_from([0, 2**16 - 1, 2**16, 2**32 - 1, 2**32, 2**63 - 1])
ODD = [
    " ",
    "\0",
    "\0\0",
    "a\0b",
    "a\ufeff",
    "é",
    "e\u0301",
    "\U0010ffff",
    "0",
    "00",
    "-0",
    "nan",
    "null",
    '"',
    "\\N",
    "x" * 8,
    "x" * 9,
    "y" * 65_536,
]
CHARACTERS = st.characters(exclude_characters=NOT_IN_TEXT, exclude_categories=["Cs"])
TEXTS = st.text(CHARACTERS, min_size=1, max_size=12) | st.sampled_from(ODD)
NAMES = {"dense": DENSE, "sparse": SPARSE, "text": TEXTS}
MASKS = [2**64 - 1, 0xFF << 56, 0xFF, 0]


@st.composite
def graphs(draw, kinds=tuple(NAMES)):
    """(kind of ids, whether there are relations, edges): few distinct ids, so that duplicates and self-loops happen."""
    kind = draw(st.sampled_from(kinds))
    names = draw(st.lists(NAMES[kind], min_size=1, max_size=14, unique=True))
    relations = draw(st.none() | st.lists(TEXTS, min_size=1, max_size=4, unique=True))
    end = st.sampled_from(names)
    edge = st.tuples(end, st.just("") if relations is None else st.sampled_from(relations), end)
    return kind, relations is not None, draw(st.lists(edge, min_size=1, max_size=60))


@st.composite
def choices(draw):
    options = {name: draw(st.booleans()) for name in ("undirected", "drop_duplicates", "drop_self_loops")}
    return options | {
        "partitions": draw(st.integers(1, 5)),
        "seed": draw(st.integers(0, 3)),
        "partitioner": draw(st.sampled_from(["random", "locality"])),
        "split": draw(st.sampled_from([None, "1,0,0", "0.6,0.2,0.2", "0.5,0,0.5"])),
        "memory": draw(st.sampled_from(["1MiB", "4GB"])),
    }


def text_options(kind, with_relation):
    return {
        "ids": "str" if kind == "text" else "int",
        "delimiter": "tab",
        "comment": "",
        "header": "no",
        "columns": "src,rel,dst" if with_relation else "src,dst",
    }


def write_text(path, edges, with_relation):
    rows = ["\t".join(map(str, edge if with_relation else (edge[0], edge[2]))) for edge in edges]
    path.write_text("".join(row + "\n" for row in rows), newline="", encoding="utf-8")


def write_files(folder, edges, with_relation, count):
    """The edges in ``count`` files, which are read one after the other."""
    paths = []
    for number in range(count):
        paths.append(folder / f"{number}.tsv")
        write_text(paths[-1], edges[number::count], with_relation)
    return [path for path in paths if path.stat().st_size]


def cleaned(edges, undirected, drop_duplicates, drop_self_loops):
    """What should be stored, the plain way."""
    kept = [edge for edge in edges if not (drop_self_loops and edge[0] == edge[2])]
    if undirected:
        kept += [(dst, rel, src) for src, rel, dst in kept if src != dst]
    return Counter(set(kept) if drop_duplicates else kept)


def in_order(names, seed, mask=2**64 - 1):
    """Raw ids by (keyed hash, raw id), the plain way."""
    hashes = np.empty(len(names), np.uint64)
    if isinstance(names[0], int):
        hash_ints(np.array(names, np.int64), order_key(seed), hashes)
        return [name for _, name in sorted(zip(hashes.tolist(), names))]
    hash_strings(*string_buffers(pa.array(names)), order_key(seed), hashes)
    return [name for *_, name in sorted((hashed & mask, name.encode(), name) for hashed, name in zip(hashes.tolist(), names))]


def collide(patch, mask):
    """Raw ids have only these bits of their hashes, wherever they are hashed."""
    patch.setattr(keys, "HASH_MASK", mask)
    patch.setattr(verify_nodes, "hash_raw_ids", lambda raw, key: hash_raw_ids(raw, key) & np.uint64(mask))


def check(dataset, edges, options, mask=2**64 - 1):
    """The dataset holds these edges; without locality, ids are in their order."""
    dataset.verify()
    names = sorted({end for src, _, dst in edges for end in (src, dst)})
    ids = dataset.raw_ids(0, dataset.manifest.nodes).to_pylist()
    assert sorted(ids) == names
    if options["partitioner"] == "random":
        assert ids == in_order(names, options["seed"], mask)
    splits = list(dataset.manifest.edges)
    found = {
        split: Counter({(src, str(rel), dst): count for (src, rel, dst), count in decoded(dataset, split).items()})
        for split in splits
    }
    assert sum(found.values(), Counter()) == cleaned(
        edges, options["undirected"], options["drop_duplicates"], options["drop_self_loops"]
    )
    for a in splits:  # equal edges fall into the same split
        assert all(a == b or not set(found[a]) & set(found[b]) for b in splits)


def checked(folder, edges, paths, options, mask=2**64 - 1):
    """The dataset's files, where there is a dataset to make."""
    if all(options["drop_self_loops"] and src == dst for src, _, dst in edges):
        with pytest.raises(UserError, match="no edges at all"):
            make(folder, paths, **options)
        return None
    dataset = make(folder, paths, **options)
    check(dataset, edges, options, mask)
    return data_files(folder)


@settings(max_examples=30, deadline=None)
@given(graphs(), choices(), st.integers(1, 3))
def test_round_trip(graph, options, files):
    kind, with_relation, edges = graph
    options |= text_options(kind, with_relation)
    with tempfile.TemporaryDirectory() as folder:
        checked(Path(folder) / "d", edges, write_files(Path(folder), edges, with_relation, files), options)


@settings(max_examples=10, deadline=None, phases=[Phase.reuse, Phase.generate])
@given(graphs(), choices(), st.randoms(use_true_random=False))
def test_same_bytes_however_it_is_made(graph, options, random):
    """Any memory, threads, order of files and rows, number of dictionaries; integers through the bitmap or the tables."""
    kind, with_relation, edges = graph
    options |= text_options(kind, with_relation)
    options["split"] = None  # a source is listed with its checksum: files must be the same ones
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name)
        paths = write_files(folder, edges, with_relation, 3)
        first = checked(folder / "a", edges, paths, options)
        if first is None:
            return
        patch.setattr(os, "sched_getaffinity", lambda _: {0})
        patch.setattr(keys, "TABLE_SHARE", 1 << 40)  # a dictionary for each file
        patch.setattr(plan, "sort_memory", lambda _: 1)
        patch.setattr(sort, "LEAST_RECORDS", 8)
        options["memory"] = "1MiB" if options["memory"] == "4GB" else "4GB"
        random.shuffle(paths)
        assert checked(folder / "b", edges, paths, options) == first
        if kind != "text":
            patch.setattr("marius_lite.preprocess.gather.gather.open_keys", keys.TableKeys)
            assert checked(folder / "c", edges, paths, options) == first


@settings(max_examples=20, deadline=None)
@given(graphs(kinds=["text"]), choices(), st.sampled_from(MASKS), st.integers(1, 3), st.booleans())
def test_colliding_hashes(graph, options, mask, files, several):
    """With few bits of hash, or none, ids are still one to one, also where several dictionaries are merged."""
    kind, with_relation, edges = graph
    options |= text_options(kind, with_relation)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        collide(patch, mask)
        if several:
            patch.setattr(keys, "TABLE_SHARE", 1 << 40)
        checked(Path(folder) / "d", edges, write_files(Path(folder), edges, with_relation, files), options, mask)


@pytest.mark.parametrize("mask", MASKS[1:])
def test_many_colliding_strings_in_many_runs(tmp_path, monkeypatch, mask):
    rng = np.random.default_rng(3)
    names = [f"{'n' * (k % 7)}{k}" for k in range(1500)]
    edges = [(names[s], "", names[d]) for s, d in rng.integers(1500, size=(4000, 2))]
    paths = write_files(tmp_path, edges, False, 5)
    collide(monkeypatch, mask)
    monkeypatch.setattr(keys, "TABLE_SHARE", 1 << 40)
    options = {
        "undirected": True,
        "drop_duplicates": False,
        "drop_self_loops": True,
        "partitioner": "random",
        "seed": 2,
        "partitions": 3,
        **text_options("text", False),
    }
    assert checked(tmp_path / "d", edges, paths, options, mask)


def test_nodes_without_an_edge_outlive_the_bitmap(tmp_path):
    """Those of loops that are dropped, and those that a file only announces."""
    (tmp_path / "0.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n9 9 2\n1 2\n4 4\n")
    write_text(tmp_path / "1.tsv", [(6, "", 1 << 20)], False)
    dataset = make(tmp_path / "d", [tmp_path / "0.mtx", tmp_path / "1.tsv"], memory=1 << 20, drop_self_loops=True, ids="int")
    found = dataset.raw_ids(0, dataset.manifest.nodes).to_pylist()
    assert len(found) == 10
    assert found == in_order(sorted(found), 0)
    assert {1, 2, 4, 6, 1 << 20} <= set(found)


@pytest.mark.parametrize("memory", [1 << 20, 1 << 22])
@pytest.mark.parametrize("reach", [-1, 0])
def test_integers_around_the_bound_of_the_bitmap(tmp_path, memory, reach):
    """The last that is its own key, and the first that is not: what came before is keyed again."""
    bound = memory // keys.DENSE_SHARE
    edges = [(k, "", k + 1) for k in range(50)] + [(7, "", bound + reach), (bound + reach, "", 3)]
    options = {
        "undirected": False,
        "drop_duplicates": False,
        "drop_self_loops": False,
        "partitioner": "random",
        "seed": 0,
        "partitions": 2,
        "memory": memory,
        **text_options("dense", False),
    }
    write_text(tmp_path / "0.tsv", edges[:40], False)
    write_text(tmp_path / "1.tsv", edges[40:], False)
    assert checked(tmp_path / "d", edges, [tmp_path / "0.tsv", tmp_path / "1.tsv"], options)
