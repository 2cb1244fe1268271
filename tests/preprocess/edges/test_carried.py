"""Weights and times go with their edges, whatever is done to these; what is stored does not depend on memory."""

import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from preprocess_tools import data_files, make

from marius_lite.preprocess import plan
from marius_lite.preprocess.disk import sort

WEIGHTS = st.floats(width=32, allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, -0.0, 1.0, 2.0**-149])
TIMES = st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2)
EDGES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2), st.integers(0, 9), WEIGHTS, TIMES), min_size=1, max_size=50)
ROLES = {"weight": 3, "time": 4}


def stored(dataset, split, columns):
    """The multiset of raw (src, rel, dst, *columns)."""
    edges, parts = dataset.edges(split), dataset.partitioning
    nodes, relations = dataset.raw_ids(0, dataset.manifest.nodes).to_pylist(), dataset.relation_names()
    found = Counter()
    for i in range(parts.partitions):
        for j in range(parts.partitions):
            for read in edges.stream_columns(i, j, 7, ("src", "rel", "dst", *columns)):
                for s, r, d, *values in zip(*(values.tolist() for values in read)):
                    found[nodes[parts.range(i)[s]], int(relations[r]), nodes[parts.range(j)[d]], *map(repr, values)] += 1
    return found


def as_stored(edges, columns, undirected, drop_duplicates):
    both = [
        edge
        for src, rel, dst, *values in edges
        for edge in [(src, rel, dst, *values)] + [(dst, rel, src, *values)] * (undirected and src != dst)
    ]
    kept = Counter((*edge[:3], *(repr(edge[ROLES[name]]) for name in columns)) for edge in both)
    return kept if not drop_duplicates else {edge[:3]: [other for other in kept if other[:3] == edge[:3]] for edge in kept}


@settings(max_examples=20, deadline=None, phases=[Phase.reuse, Phase.generate])
@given(
    EDGES,
    st.sampled_from([("weight",), ("time",), ("weight", "time")]),
    st.integers(1, 4),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_what_edges_carry(edges, columns, partitions, undirected, drop_duplicates, split):
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name)
        rows = [",".join(str(value) for value in (*edge[:3], *(repr(edge[ROLES[role]]) for role in columns))) for edge in edges]
        (folder / "e.csv").write_text("\n".join(rows))
        options = {
            "columns": ",".join(("src", "rel", "dst", *columns)),
            "partitions": partitions,
            "undirected": undirected,
            "drop_duplicates": drop_duplicates,
            "split": "0.5,0.3,0.2" if split else None,
            "adjacency": "in",
        }
        dataset = make(folder / "d", folder / "e.csv", **options)
        dataset.verify()
        found = sum((stored(dataset, name, columns) for name in dataset.manifest.edges), Counter())
        wanted = as_stored(edges, columns, undirected, drop_duplicates)
        if drop_duplicates:  # one of those that differ by what they carry
            assert Counter(edge[:3] for edge in found) == Counter(wanted.keys())
            assert all(edge in wanted[edge[:3]] for edge in found)
        else:
            assert found == wanted
        patch.setattr(plan, "sort_memory", lambda _: 1)
        patch.setattr(sort, "LEAST_RECORDS", 8)
        make(folder / "other", folder / "e.csv", memory="1MiB", **options)
        assert data_files(folder / "other") == data_files(folder / "d")


def test_in_edges_have_the_weights_of_the_edges(tmp_path):
    rng = np.random.default_rng(2)
    src, dst, weight = rng.integers(30, size=500), rng.integers(30, size=500), rng.random(500).astype(np.float32)
    (tmp_path / "e.csv").write_text("\n".join(f"{s},{d},{w}" for s, d, w in zip(src, dst, weight)))
    dataset = make(tmp_path / "d", tmp_path / "e.csv", columns="src,dst,weight", partitions=3, adjacency="in")
    ids = dataset.raw_ids(0, dataset.manifest.nodes).to_numpy()
    found = Counter()
    for k in range(3):
        lists = dataset.adjacency.read(k, weights=True)
        for place, node in enumerate(dataset.partitioning.range(k)):
            part = slice(lists.indptr[place], lists.indptr[place + 1])
            found.update((ids[s], ids[node], w) for s, w in zip(lists.sources[part], lists.weights[part]))
    assert found == Counter(zip(src, dst, weight))
