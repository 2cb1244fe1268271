"""A search that looks everywhere finds what a comparison of all nodes finds, to the same bits; a stale index is not used."""

import shutil
from functools import cache

import numpy as np
import pytest
import typed_graph

import marius_lite as ml
from marius_lite.errors import RunError, UserError
from marius_lite.search.index_folder import place_of

pytest.importorskip("faiss", reason="an index needs the extra `search`")
FEW = ["training.epochs=1", "training.batch_size=500", "model.dim=16", "storage.capacity=2", "negatives.count=20"]
NODES = ["node7", "node150", "node7", "node299"]


@pytest.fixture(scope="module")
def run_of(train_once, tiny_dataset):
    return cache(lambda decoder: train_once(f"search-{decoder}", tiny_dataset, [*FEW, f"model.decoder={decoder}"]))


def asked(search, topk=5):
    yield search.neighbors(NODES, topk)
    yield search.neighbors(NODES, topk, known=False)
    for side in ("dst", "src"):
        for known in (True, False):
            yield search.answers(NODES, "rel1", side, topk, known=known)


@pytest.mark.parametrize("decoder", ["dot", "complex", "transe", "transe_l1", "rotate"])
@pytest.mark.parametrize("kind", ["flat", "ivf-pq"])
def test_an_index_that_looks_everywhere_gives_the_exact_answers(run_of, decoder, kind):
    run = run_of(decoder)
    made = ml.index_run(run, kind, recall=1.0)
    assert (made["kind"], made["measure"]) == (kind, "inner" if decoder in ("dot", "complex") else "l2")
    with ml.open_search(run) as indexed, ml.open_search(run, exact=True) as exact:
        compared = list(zip(asked(indexed), asked(exact), strict=True))
        assert kind != "flat" or all(one == other for one, other in compared)
        same = [one[i] == other[i] for one, other in compared for i in range(len(NODES))]
    assert np.mean(same) > 0.9
    predicted = ml.predict_links(run, [("node7", "rel1", None)], 5)[0]["answers"]
    assert compared[3][1][0]["answers"] == predicted


def test_neighbors_by_cosine(run_of):
    run = run_of("complex")
    ml.index_run(run, "flat", cosine=True)
    with ml.open_search(run, cosine=True) as indexed, ml.open_search(run, cosine=True, exact=True) as exact:
        found = indexed.neighbors(NODES, 300)
        assert found == exact.neighbors(NODES, 300)
        for each in found:
            scores = [best["score"] for best in each["neighbors"]]
            assert each["id"] not in {best["id"] for best in each["neighbors"]}
            assert len(scores) == 299
            assert all(-1 <= score <= 1 for score in scores)
            assert scores == sorted(scores, reverse=True)
        with pytest.raises(UserError, match="not by cosine"):
            indexed.answers(NODES, "rel1")


def test_known_links_are_left_out(run_of, tiny_edges):
    lines = [line.split("\t") for line in tiny_edges.read_text().splitlines()]
    linked = {pair for line in lines for pair in ((line[0], line[2].strip()), (line[2].strip(), line[0]))}
    with ml.open_search(run_of("complex"), exact=True) as search:
        every, others = (search.neighbors(NODES, 300, known=known) for known in (True, False))
    for each, fewer in zip(every, others, strict=True):
        kept = [best for best in each["neighbors"] if (each["id"], best["id"]) not in linked]
        assert fewer["neighbors"] == kept
        assert len(kept) < len(each["neighbors"])


def test_an_index_of_another_checkpoint_is_not_used(run_of, tmp_path, caplog, cli):
    run = tmp_path / "run"
    shutil.copytree(run_of("dot"), run, symlinks=True)
    ml.index_run(run)
    assert cli("resume", run, "--set", "training.epochs=2") == 0
    with ml.open_search(run, checkpoint="latest") as search, ml.open_search(run, exact=True, checkpoint="latest") as exact:
        assert "it is not used, and all nodes are compared: `marius-lite index" in caplog.text
        assert search.neighbors(NODES) == exact.neighbors(NODES)


@pytest.mark.parametrize("name", ["codes", "nodes", "groups", "learned", "counts"])
def test_a_damaged_index_is_an_error(run_of, name, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(run_of("dot"), run, symlinks=True)
    ml.index_run(run)
    file = place_of(run, "inner") / name
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(RunError, match=f"{name}: does not match its checksum.*marius-lite index"):
        ml.open_search(run)
    file.write_bytes(data[:-1])
    with pytest.raises(RunError, match=f"{name}: ends before"):
        ml.open_search(run)


def test_mistakes_are_named(run_of, class_run):
    with ml.open_search(run_of("dot"), exact=True) as search:
        with pytest.raises(UserError, match="number 2: the dataset has no node 'nobody'"):
            search.neighbors(["node1", "nobody"])
        with pytest.raises(UserError, match="the dataset has no relation 'love'"):
            search.answers(["node1"], "love")
        with pytest.raises(UserError, match="what is asked for is dst or src"):
            search.answers(["node1"], "rel1", "both")
        with pytest.raises(UserError, match="have no types: preprocess stores them with --node-types"):
            search.neighbors(["node1"], type="paper")
        with pytest.raises(UserError, match="topk is 0"):
            search.neighbors(["node1"], 0)
        with pytest.raises(UserError, match="no nodes"):
            search.neighbors([])
    for call in (ml.open_search, ml.index_run):
        with pytest.raises(UserError, match="its task is node_classification"):
            call(class_run)


def test_an_encoder_is_searched_without_running_it_again(encoded_run, tmp_path, monkeypatch):
    run = tmp_path / "run"
    shutil.copytree(encoded_run, run, symlinks=True)
    with ml.open_search(run) as search:  # there is no index yet: the vectors are made
        expected = list(asked(search))
    ml.index_run(run)
    monkeypatch.setattr("marius_lite.encode.vectors.Inference", None)
    with ml.open_search(run) as search:
        assert list(asked(search)) == expected
        assert len(search.neighbors(NODES, 299)[0]["neighbors"]) == 299


def test_only_nodes_of_a_type(tmp_path, train_once):
    np.save(tmp_path / "edges.npy", typed_graph.write(tmp_path)["edges"])
    edges, types = str(tmp_path / "edges.npy"), str(tmp_path / "types.tsv")
    ml.make_dataset([edges], str(tmp_path / "dataset"), partitions=4, columns="src,rel,dst", node_types=types)
    run = train_once("typed", tmp_path / "dataset", [*FEW])
    for kind in ("flat", "ivf-flat"):
        ml.index_run(run, kind)
        with ml.open_search(run) as indexed, ml.open_search(run, exact=True) as exact:
            for name, first, count in (("venue", 960, 24), ("author", 600, 360)):
                found, everywhere = (search.neighbors([3, 970], 30, type=name) for search in (indexed, exact))
                for one, other in zip(found, everywhere, strict=True):
                    assert len(one["neighbors"]) == min(30, count - (name == "venue" and one["id"] == 970))
                    assert {best["id"] for best in one["neighbors"]} <= set(range(first, first + count))
                    assert kind != "flat" or one == other
            with pytest.raises(UserError, match=r"no node of .* has this type: there are author, paper, venue"):
                indexed.neighbors([3], type="car")
