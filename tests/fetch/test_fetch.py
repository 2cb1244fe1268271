"""Whole fetches: each recipe's layout, from a server on this machine to a dataset with its counts."""

import json

import pytest
import stand_ins
import yaml

from marius_lite.fetch.fetch import fetch_dataset
from marius_lite.fetch.recipes import names, read_recipe
from marius_lite.graph.dataset import Dataset


@pytest.fixture
def served(site, tmp_path):
    """Puts the stand-in of a recipe on the server; the file of the recipe that names it."""

    def serve(name, **changed):
        recipe = read_recipe(name)
        site.content.update(stand_ins.content(recipe))
        path = tmp_path / f"{name}.yaml"
        path.write_text(yaml.safe_dump({**stand_ins.stand_in(recipe, site.address), **changed}))
        return path

    return serve


ALIKE = {  # in their layout to others
    *("CoDEx-M", "CoDEx-L", "FB15k", "NELL-995", "WN18RR", "YAGO3-10"),
    *("Friendster", "Twitter-2010", "IGB-small", "IGB-medium", "ogbn-products", "ogbl-citation2"),
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] if name in ALIKE else []) for name in names()])
def test_a_recipe_makes_its_dataset(cli, served, tmp_path, capfd, name):
    assert cli("fetch", served(name), "--to", tmp_path / "f", "--memory", "1GB") == 0
    out = capfd.readouterr().out.splitlines()
    assert out[0].endswith("counts as published")
    assert out[1] == f"next: marius-lite train {tmp_path}/f/dataset --run run --config preset:{read_recipe(name).preset}"
    record = json.loads((tmp_path / "f/fetched.json").read_text())
    assert record["licence"] == read_recipe(name).licence.name
    assert not list((tmp_path / "f/raw").glob("unpacked-*"))
    splits = Dataset.open(tmp_path / "f/dataset").manifest.edges.keys()
    assert splits == ({"train"} if "labels" in read_recipe(name).preprocess else {"train", "valid", *_test(name)})


def _test(name):
    return [] if name == "WikiKG90Mv2" else ["test"]


def test_a_finished_fetch_asks_nobody(cli, served, site, tmp_path):
    path = served("Wikidata5M")
    for _ in range(2):
        assert cli("fetch", path, "--to", tmp_path / "f", "--memory", "1GB") == 0
    assert len(site.asked) == 1


def test_raw_only_and_then_the_rest(cli, served, site, tmp_path, capfd):
    path = served("FB15k-237")
    assert cli("fetch", path, "--output", tmp_path / "f", "--raw-only", "--json") == 0  # as other commands call it
    assert json.loads(capfd.readouterr().out)["files"] == ["train.txt", "valid.txt", "test.txt"]
    assert not (tmp_path / "f/dataset").exists()
    assert cli("fetch", path, "--to", tmp_path / "f", "--memory", "1GB") == 0
    assert len(site.asked) == 3


def test_from_python_files_of_this_machine_take_the_place_of_a_download(served, site, tmp_path, caplog):
    path = served("Wikidata5M")
    fetch_dataset(path, tmp_path / "f", raw_only=True, memory="1GB")
    record = fetch_dataset(path, tmp_path / "g", source=str(tmp_path / "f/raw"), memory="1GB")
    assert len(site.asked) == 1
    assert Dataset.open(tmp_path / "g/dataset").manifest.nodes == record["counts"]["nodes"]
    assert "another version of this recipe" not in caplog.text
    recipe = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump({**recipe, "preprocess": {**recipe["preprocess"], "undirected": True}}))
    fetch_dataset(path, tmp_path / "g", memory="1GB")
    assert "was made by another version of this recipe, with another preprocess" in caplog.text


def test_other_counts_are_an_error_that_says_both(cli, served, tmp_path, capfd):
    path = served("FB15k-237", counts={"nodes": 61, "edges": {"train": 400, "valid": 41}, "relations": 5})
    for _ in range(2):
        assert cli("fetch", path, "--to", tmp_path / "f", "--memory", "1GB") == 1
        told = capfd.readouterr().err.splitlines()[-1]
        assert "60 nodes where 61 are published; 40 edges (valid) where 41 are published: the files are others" in told


def test_terms_are_asked_for(cli, served, site, tmp_path, capfd):
    path = served("FB15k-237", licence={"name": "strict", "url": "http://h.example/terms", "accept": True})
    assert cli("fetch", path, "--to", tmp_path / "f") == 2
    assert "its terms must be accepted: read http://h.example/terms, then give --accept-licence" in capfd.readouterr().err
    assert not site.asked
    assert not (tmp_path / "f").exists()
    assert cli("fetch", path, "--to", tmp_path / "f", "--accept-licence", "--raw-only") == 0


def test_an_interrupted_fetch_keeps_what_is_downloaded(cli, served, site, tmp_path, monkeypatch):
    path = served("ogbl-wikikg2")

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("marius_lite.fetch.fetch._preprocess", killed)
        assert cli("fetch", path, "--to", tmp_path / "f") == 130
    made = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "f/raw").glob("unpacked-*/*.npy")}
    assert made.keys() == {"train.npy", "valid.npy", "test.npy"}
    with monkeypatch.context() as patch:
        patch.setattr("marius_lite.fetch.convert.write_npy", killed)  # nothing is converted again
        assert cli("fetch", path, "--to", tmp_path / "f", "--memory", "1GB") == 0
    assert len(site.asked) == 1


def test_the_list_names_all_with_size_and_licence(cli, capfd):
    assert cli("fetch", "--json") == 0
    rows = json.loads(capfd.readouterr().out)
    assert [row["name"] for row in rows] == names()
    assert cli("fetch") == 0
    out = capfd.readouterr().out
    assert all(row["name"] in out and row["licence"] in out for row in rows)
