"""Sources and destinations of two kinds that have the same raw ids are different nodes."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from preprocess_tools import data_files, decoded, make

import marius_lite
from marius_lite.errors import UserError
from marius_lite.graph import Dataset

PAIRS = np.random.default_rng(3).integers(0, 40, (300, 2))


def named(pairs):
    return Counter((f"user:{a}", "edge", f"item:{b}") for a, b in pairs)


def as_text(path, pairs):
    path.write_text("".join(f"{a},{b}\n" for a, b in pairs))


def as_npy(path, pairs):
    np.save(path, pairs)


def as_parquet(path, pairs):
    pq.write_table(pa.table({"user_id": pairs[:, 0], "item_id": pairs[:, 1]}), path)


@pytest.mark.parametrize(("name", "write"), [("e.csv", as_text), ("e.npy", as_npy), ("e.parquet", as_parquet)])
def test_ids_get_the_names_of_their_kinds(tmp_path, name, write):
    write(tmp_path / name, PAIRS)
    dataset = make(tmp_path / "d", tmp_path / name, bipartite="user,item")
    dataset.verify()
    found = decoded(dataset)
    assert Counter({(a, "edge", b): count for (a, _, b), count in found.items()}) == named(PAIRS)
    assert dataset.manifest.ids == "str"
    assert dataset.manifest.nodes == len(set(PAIRS[:, 0])) + len(set(PAIRS[:, 1]))


@settings(deadline=None, max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from("rs"), st.integers(0, 9)), min_size=1, max_size=40))
def test_it_is_as_if_the_file_had_these_names(tmp_path_factory, edges):
    folder = tmp_path_factory.mktemp("both")
    (folder / "a.tsv").write_text("".join(f"{s}\t{r}\t{d}\n" for s, r, d in edges))
    (folder / "b.tsv").write_text("".join(f"left:{s}\t{r}\tright:{d}\n" for s, r, d in edges))
    columns = {"columns": "src,rel,dst", "undirected": True, "drop_self_loops": True}
    one = make(folder / "one", folder / "a.tsv", bipartite="left, right", **columns)
    two = make(folder / "two", folder / "b.tsv", **columns)
    files = [{name: data for name, data in data_files(each.path).items() if str(name) != "zarr.json"} for each in (one, two)]
    assert files[0] == files[1]


def test_it_holds_for_updates_and_for_other_splits(tmp_path):
    for name, part in (("train", PAIRS[:200]), ("valid", PAIRS[200:250]), ("more", PAIRS[250:])):
        as_text(tmp_path / f"{name}.csv", part)
    make(tmp_path / "d", tmp_path / "train.csv", valid=[tmp_path / "valid.csv"], bipartite="user,item")
    as_text(tmp_path / "gone.csv", PAIRS[:1])
    grown = marius_lite.update_dataset(tmp_path / "d", tmp_path / "more.csv", remove=tmp_path / "gone.csv")
    expected = named(PAIRS[:200]) + named(PAIRS[250:])
    del expected[next(iter(named(PAIRS[:1])))]
    found = decoded(grown)
    assert Counter({(a, "edge", b): count for (a, _, b), count in found.items()}) == expected
    assert Dataset.open(tmp_path / "d").edges("valid").total == 50


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ("user", {}, "--bipartite user: give two names"),
        ("user,", {}, "give two names"),
        ("a,b,c", {}, "give two names"),
        ("a,a", {}, "both kinds have the same name"),
        ("a:b,c", {}, "has ':'"),
        ("user,item", {"ids": "int"}, "such as user:7: leave --ids out"),
    ],
)
def test_what_cannot_be(tmp_path, given, options, message):
    as_text(tmp_path / "e.csv", PAIRS)
    with pytest.raises(UserError, match=message):
        make(tmp_path / "d", tmp_path / "e.csv", bipartite=given, **options)


def test_a_file_that_says_itself_which_nodes_there_are(tmp_path):
    (tmp_path / "g.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n4 4 2\n1 2\n3 4\n")
    with pytest.raises(UserError, match="says itself which nodes there are"):
        make(tmp_path / "d", tmp_path / "g.mtx", bipartite="user,item")
