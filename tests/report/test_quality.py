"""A report tells how good the model is where, from the run's evaluations; --evaluate makes the one of the whole test split."""

import json
import re
import shutil

import numpy as np
import pytest
from browser import PHONE, opened
from test_make import checked

import marius_lite as ml
from marius_lite.evaluate.result import ByDegree
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.popularity import degrees

pytest.importorskip("matplotlib", reason="reports need the extra `report`")


@pytest.fixture
def copied(request, tmp_path):
    evaluated = shutil.ignore_patterns("*.all.json")  # other tests may have evaluated the run that all have in common
    shutil.copytree(request.getfixturevalue(request.param), tmp_path / "run", symlinks=True, ignore=evaluated)
    return tmp_path / "run"


def part(text, heading):
    return re.search(f"<h2>{heading}</h2>(.*?)</section>", text, re.S)[1]


@pytest.mark.parametrize("copied", ["link_run"], indirect=True)
def test_links(cli, copied):
    assert cli("report", copied) == 0
    assert "By degree: only" in part(checked(copied / "report.html"), "Quality")
    assert cli("report", copied, "--evaluate") == 0
    text = part(checked(copied / "report.html"), "Quality")
    result = json.loads(next((copied / "eval").glob("*.test.all.json")).read_text())
    assert sum(figures["count"] for figures in result["per_degree"].values()) == 2 * result["count"]
    mean = sum(figures["mrr"] * figures["count"] for figures in result["per_degree"].values()) / (2 * result["count"])
    assert mean == pytest.approx(result["mrr"])
    for name in (*result["per_relation"], *result["per_degree"], "destination asked for"):
        assert f"<td>{name}</td>" in text
    assert f'<td class="n">{result["count"]}</td>' in text
    assert "nodes: two main components of their vectors, by degree" in part(checked(copied / "report.html"), "Map of the nodes")
    shown = opened(copied / "report.html", PHONE)
    assert shown["width"] <= PHONE
    assert shown["ms"] < 3000


@pytest.mark.parametrize("copied", ["class_run"], indirect=True)
def test_classes(cli, copied):
    assert cli("report", copied) == 0
    assert "--evaluate" in part(checked(copied / "report.html"), "Map of the nodes")
    assert cli("report", copied, "--evaluate") == 0
    text = checked(copied / "report.html")
    result = json.loads(next((copied / "eval").glob("*.test.all.json")).read_text())
    confusion, classes = np.array(result["confusion"]), result["per_class"]
    assert [figures["count"] for figures in classes.values()] == confusion.sum(1).tolist()
    assert [figures["recall"] for figures in classes.values()] == pytest.approx(confusion.diagonal() / confusion.sum(1))
    assert np.mean([figures["f1"] for figures in classes.values()]) == pytest.approx(result["macro_f1"])
    assert "confusion: rows are classes" in part(text, "Quality")
    assert "by label" in part(text, "Map of the nodes")


def test_degrees_are_ends_of_edges(tiny_dataset):
    data = Dataset.open(tiny_dataset)
    edges = data.edges("train")
    counts, rows, every = np.zeros(data.manifest.nodes, int), data.partitioning.rows, range(4)
    for k in every:
        for sources, destinations, end in ((every, range(k, k + 1), "dst"), (range(k, k + 1), every, "src")):
            for piece in edges.block(sources, destinations, 1000, [end]):
                np.add.at(counts, piece.columns[0] + k * rows, 1)
    asked = np.random.default_rng(0).integers(0, data.manifest.nodes, 200)
    np.testing.assert_array_equal(degrees(edges, asked), counts[asked])
    assert len(degrees(edges, asked[:0])) == 0


def test_degrees_fall_into_ranges():
    figures = ByDegree()
    figures.add(0, np.array([0, 1, 2, 3, 4, 7, 8]), np.ones(7))
    figures.add(1, np.array([3]), np.array([4.0]))
    told = figures.summary()
    assert {name: each["count"] for name, each in told.items()} == {"0": 1, "1": 1, "2 to 3": 3, "4 to 7": 2, "8 to 15": 1}
    assert told["2 to 3"]["mrr"] == pytest.approx(0.75)


@pytest.mark.parametrize("copied", ["link_run"], indirect=True)
def test_the_same_map_each_time(copied):
    pages = [ml.report_run(copied) and (copied / "report.html").read_bytes() for _ in range(2)]
    assert pages[0] == pages[1]
