"""A row of titles above ids and their classes or types is no node, whatever the titles are; a doubt is told."""

import json
from itertools import pairwise

import pytest
from preprocess_tools import make

from marius_lite.errors import UserError
from marius_lite.preprocess.readers.titles import titled

PLACES = [f"n{i}" for i in range(12)]
KINDS = [f"k{i % 3}" for i in range(12)]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "e.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in pairwise(PLACES)))
    return tmp_path


def table(title, values):
    return "\n".join([title, *(f"{place},{value}" for place, value in zip(PLACES, values))]) + "\n"


@pytest.mark.parametrize("title", ["id,label", "id,y", "paper,Subject", "node_id,anything", "paper,type"])
def test_one_known_title_is_enough(folder, title):
    (folder / "f.csv").write_text(table(title, KINDS))
    labels = make(folder / "d", folder / "e.tsv", labels=folder / "f.csv", partitions=1)
    types = make(folder / "t", folder / "e.tsv", node_types=folder / "f.csv", partitions=1)
    assert labels.manifest.nodes == types.manifest.nodes == 12
    assert labels.class_names == list(types.manifest.node_types) == ["k0", "k1", "k2"]


def test_titles_above_numbers_need_not_be_known(folder):
    (folder / "f.csv").write_text(table("paper,what", [i % 3 for i in range(12)]))
    dataset = make(folder / "d", folder / "e.tsv", labels=folder / "f.csv", partitions=1)
    assert (dataset.manifest.nodes, dataset.manifest.labels.classes) == (12, 3)


@pytest.mark.parametrize("option", ["labels", "node_types"])
def test_a_doubt_is_told(folder, option):
    (folder / "f.csv").write_text(table("paper,what", KINDS))
    dataset = make(folder / "d", folder / "e.tsv", **{option: folder / "f.csv"}, partitions=1)
    assert dataset.manifest.nodes == 13
    warning, *others = json.loads((folder / "d/report.json").read_text())["warnings"]
    assert len(others) == (option == "labels")  # that a node has no edge
    what = option.removeprefix("node_")[:-1]
    assert f"f.csv: 'paper' is taken for a node, and 'what' for its {what}, which no other" in warning


def test_a_column_of_names_alone(tmp_path):
    (tmp_path / "e.tsv").write_text("".join(f"{i}\t{i + 1}\n" for i in range(11)))
    for title, warned in (("label", 0), ("what", 1)):
        (tmp_path / "y").write_text("\n".join([title, *KINDS]) + "\n")
        dataset = make(tmp_path / title, tmp_path / "e.tsv", labels=tmp_path / "y", partitions=1)
        assert dataset.manifest.nodes == 12 + warned
        warnings = json.loads((tmp_path / title / "report.json").read_text())["warnings"]
        assert sum("'what' is taken for a class, which no other of the first lines has" in line for line in warnings) == warned


def test_what_recurs_is_no_title():
    assert titled(["label", "a", "label", "b"], "id") is False
    assert titled(["3", "1", "2"]) is False
    assert titled(["only"]) is False
    assert titled(["a", "7", "7"], "0") is False  # no title is a number
    assert titled([f"v{i}" for i in range(100)]) is False  # values that are all different show nothing


@pytest.mark.parametrize("first", ["", "station,near,km\n", "src,rel,dst\n"])
def test_fractions_are_no_ids(tmp_path, first):
    (tmp_path / "e.csv").write_text(first + "1,2,0.5\n2,3,1\n3,1,2.25\n")
    if first.startswith("src"):  # who names the columns means it
        assert make(tmp_path / "d", tmp_path / "e.csv").manifest.relations == 3
        return
    with pytest.raises(UserError, match=r"the third has fractions \((0.5|2.25)\), which are no ids: say what .* src,dst,weight"):
        make(tmp_path / "d", tmp_path / "e.csv")
    dataset = make(tmp_path / "d", tmp_path / "e.csv", columns="src,dst,weight", header="yes" if first else "no")
    assert (dataset.manifest.nodes, dataset.manifest.relations, dataset.manifest.carried) == (3, 1, ("weight",))
