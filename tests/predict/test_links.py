"""Queries that stream get the answers of those in one block; probabilities rise with the scores."""

import ctypes
import itertools
import json
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest

import marius_lite as ml
from marius_lite.errors import UserError
from marius_lite.predict.links import answer_links

ROWS = [(f"node{i}", "rel1", None) if i % 3 else (None, "rel0", f"node{i}") for i in range(40)]


def test_blocks_do_not_matter(link_run, monkeypatch):
    whole = ml.predict_links(link_run, ROWS, topk=3)
    monkeypatch.setattr("marius_lite.predict.links.BLOCK", 7)
    monkeypatch.setattr("marius_lite.predict.links.QUESTIONS", 14)
    assert ml.predict_links(link_run, ROWS, topk=3) == whole
    assert [(each["src"], each["rel"], each["dst"]) for each in whole] == ROWS


MEMORY = """
import ctypes, sys
from marius_lite.predict import links

def resident():
    with open("/proc/self/statm") as file:
        return 4096 * int(file.read().split()[1])

def rows():
    for number in range(2 * QUESTIONS):
        if number == QUESTIONS:
            before = resident()
            ctypes.CDLL(None).malloc_trim(0)
            print(before - resident())
        yield f"node{number % 40}", "rel1", None

QUESTIONS = links.QUESTIONS = links.BLOCK = 8192
for block in links.answer_links(sys.argv[1], rows(), topk=10):
    pass
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="another C library")
def test_a_block_leaves_no_memory_behind(link_run):
    """What the C library holds and could give back when the second block begins."""
    done = subprocess.run([sys.executable, "-c", MEMORY, str(link_run)], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 2 << 20


def test_answers_come_before_all_queries_are_read(link_run, monkeypatch):
    monkeypatch.setattr("marius_lite.predict.links.QUESTIONS", 5)
    answered = ml.stream_links(link_run, itertools.cycle(ROWS), topk=2)
    assert [next(answered)["src"] for _ in range(12)] == [src for src, _, _ in ROWS[:12]]
    answered.close()
    bad = ml.stream_links(link_run, [*ROWS[:5], ("nobody", "rel1", None)])
    assert len(list(itertools.islice(bad, 5))) == 5
    with pytest.raises(UserError, match="row 5: the dataset has no node 'nobody'"):
        next(bad)


def test_probabilities_rise_with_scores_and_are_the_same_each_time(link_run):
    found = ml.predict_links(link_run, ROWS, topk=50, probability=True)
    assert found == ml.predict_links(link_run, ROWS, topk=50, probability=True)
    pairs = sorted((answer["score"], answer["probability"]) for each in found for answer in each["answers"])
    chances = np.array([chance for _, chance in pairs])
    assert (np.diff(chances) >= 0).all()
    assert 0 <= chances[0] < chances[-1] <= 1
    for each in found:
        for answer in each["answers"]:
            del answer["probability"]
    assert found == ml.predict_links(link_run, ROWS, topk=50)


def test_without_a_validation_split_there_are_none(cli, tiny_edges, tmp_path, capfd):
    assert cli("preprocess", tiny_edges, "--output", tmp_path / "data", "--split", "0.9,0,0.1") == 0
    small = ("--set", "training.epochs=1", "--set", "model.dim=4", "--config", "preset:plain")
    assert cli("train", tmp_path / "data", "--run", tmp_path / "run", *small) == 0
    (tmp_path / "q").write_text("node1\trel0\t?\n")
    assert cli("predict", tmp_path / "run", "--queries", tmp_path / "q", "--probability") == 2
    assert "data: has no validation split, on which probabilities are fitted" in capfd.readouterr().err


def test_a_file_holds_the_answers(link_run, cli, tmp_path, capfd, monkeypatch):
    monkeypatch.setattr("marius_lite.predict.links.QUESTIONS", 7)
    (tmp_path / "q").write_text("".join("\t".join(part or "?" for part in row) + "\n" for row in ROWS))
    expected = [
        (number, *row, rank, answer["id"], answer["score"], answer["probability"], "")
        for number, (row, each) in enumerate(zip(ROWS, ml.predict_links(link_run, ROWS, 3, probability=True)), 1)
        for rank, answer in enumerate(each["answers"], 1)
    ]
    for name in ("a.parquet", "a.tsv"):
        told = ("--topk", "3", "--probability", "--output", tmp_path / name, "--json", "--quiet")
        assert cli("predict", link_run, "--batch", tmp_path / "q", *told) == 0
        assert json.loads(capfd.readouterr().out) == {"output": str(tmp_path / name), "answers": 120}
    table = pq.read_table(tmp_path / "a.parquet")
    assert [tuple(row.values()) for row in table.to_pylist()] == expected
    head, *lines = [line.split("\t") for line in (tmp_path / "a.tsv").read_text().splitlines()]
    assert head == table.column_names
    assert [(line[:6], np.float32(line[6]), float(line[7])) for line in lines] == [
        ([str("?" if cell is None else cell) for cell in row[:6]], row[6], row[7]) for row in expected
    ]
    assert {path.name for path in tmp_path.iterdir()} == {"q", "a.parquet", "a.tsv"}


def test_many_answers_are_fewer_questions_at_a_time(link_run, monkeypatch):
    whole = ml.predict_links(link_run, ROWS, topk=50)
    monkeypatch.setattr("marius_lite.predict.links.ANSWERS", 120)
    blocks = list(answer_links(link_run, ROWS, topk=50))
    assert {len(block.questions.raw) for block in blocks} == {2}
    assert [query for block in blocks for query in block.dicts()] == whole


def test_of_many_unknown_things_some_are_told_and_all_counted(tiny_edges, cli, tmp_path, capfd):
    rows = tiny_edges.read_text().splitlines()
    (tmp_path / "valid").write_text("".join(f"new{i}\trel0\tnode{i}\n" for i in range(30)))
    (tmp_path / "train").write_text("\n".join(rows))
    assert cli("preprocess", tmp_path / "train", "--valid", tmp_path / "valid", "--output", tmp_path / "data") == 0
    small = ("--set", "training.epochs=1", "--set", "model.dim=4", "--config", "preset:plain", "--quiet")
    assert cli("train", tmp_path / "data", "--run", tmp_path / "run", *small) == 0
    (tmp_path / "q").write_text("".join(f"new{i}\trel0\t?\n" for i in range(30)))
    capfd.readouterr()
    assert cli("predict", tmp_path / "run", "--queries", tmp_path / "q", "--topk", "1") == 0
    told = capfd.readouterr().err.splitlines()
    assert len(told) == 21
    assert told[0] == "warning: new0, rel0, ?: no training edge has the node new0: the model learned nothing about it"
    assert told[20] == "warning: 10 more queries are about what no training edge has: --json and --output tell which"
