"""The commands after training: each prints what its contract says."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from marius_lite.predict.links import predict_links
from marius_lite.predict.nodes import NodeClasses
from marius_lite.printable import printable
from marius_lite.tasks.class_probabilities import Classified


@pytest.fixture(scope="module")
def run(tiny_dataset, tmp_path_factory, cli):
    folder = tmp_path_factory.mktemp("commands") / "run"
    assert (
        cli(
            "train",
            tiny_dataset,
            "--run",
            folder,
            "--set",
            "storage.capacity=2",
            "--set",
            "model.dim=16",
            "--set",
            "training.epochs=12",
            "--set",
            "training.batch_size=100",
            "--set",
            "negatives.count=50",
            "--set",
            "negatives.chunks=1",
            "--set",
            "evaluation.every_epochs=6",
        )
        == 0
    )
    return folder


@pytest.fixture
def printed(cli, capfd):
    def call(*arguments):
        capfd.readouterr()
        assert cli(*arguments, "--json") == 0
        return json.loads(capfd.readouterr().out)

    return call


def test_eval_prints_the_contract_and_beats_chance(printed, run):
    result = printed("eval", run, "--split", "test")
    assert {
        "split",
        "mrr",
        "hits@1",
        "hits@3",
        "hits@10",
        "mean_rank",
        "candidates",
        "filtered",
        "ties",
        "count",
        "per_side",
        "per_relation",
    } <= set(result)
    assert result["count"] == pytest.approx(240, abs=60)
    assert result["mrr"] > 0.1  # 300 candidates at random: 0.02
    assert set(result["per_relation"]) == {"rel0", "rel1", "rel2"}
    assert json.loads(max((run / "eval").glob("*.test.all.json")).read_text()) == result


def test_predict_gives_likely_answers_in_raw_ids(printed, run, tmp_path):
    (tmp_path / "q").write_text("node7\trel1\t?\n?\trel0\tnode50\n")
    first, second = printed("predict", run, "--queries", tmp_path / "q", "--topk", "5", "--known")["queries"]
    assert [first["src"], first["rel"], first["dst"]] == ["node7", "rel1", None]
    near = {f"node{(7 + 10 + k) % 300}" for k in range(-5, 10)}
    assert len({a["id"] for a in first["answers"]} & near) >= 2  # 15 of 300 nodes are near: 0.25 by chance
    scores = [a["score"] for a in second["answers"]]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 5


def test_a_node_is_no_answer_to_its_own_question_where_training_has_no_self_loops(printed, cli, tiny_edges, tmp_path):
    rows = [line.split("\t") for line in tiny_edges.read_text().splitlines()]
    (tmp_path / "loops.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    (tmp_path / "none.tsv").write_text("".join("\t".join(row) + "\n" for row in rows if row[0] != row[2]))
    (tmp_path / "q").write_text("".join(f"node{n}\trel0\t?\n" for n in range(0, 300, 10)))
    sets = [
        "model.decoder=dot",
        "model.dim=8",
        "training.epochs=1",
        "training.batch_size=500",
        "negatives.count=50",
        "negatives.chunks=1",
    ]  # a node's product with itself is mostly the largest

    def answers(*more):
        given = printed("predict", tmp_path / "run", "--queries", tmp_path / "q", "--topk", "300", "--known", *more)["queries"]
        return [query["src"] in {answer["id"] for answer in query["answers"]} for query in given]

    for name in ("loops", "none"):
        assert cli("preprocess", tmp_path / f"{name}.tsv", "--output", tmp_path / name, "--split", "0.9,0,0.1") == 0
        assert cli("train", tmp_path / name, "--run", tmp_path / "run", *(f"--set={item}" for item in sets)) == 0
        assert answers() == [name == "loops"] * 30
        assert answers("--exclude-self") == [False] * 30
        assert answers("--include-self") == [True] * 30
        shutil.rmtree(tmp_path / "run")


@pytest.mark.parametrize("loops", [0, 1, 100])
def test_eval_warns_where_nodes_are_their_own_best_answers(printed, cli, tiny_edges, tmp_path, capfd, loops):
    """They are left out where training has hardly any self-loops; figures of both kinds are told."""
    rows = [line.split("\t") for line in tiny_edges.read_text().splitlines()]
    rows = [row for row in rows if row[0] != row[2]]
    rows += [[row[0], row[1], row[0]] for row in rows[:loops]]
    (tmp_path / "e.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    (tmp_path / "t.tsv").write_text("".join("\t".join(row) + "\n" for row in rows[:200]))
    assert cli("preprocess", tmp_path / "e.tsv", "--test", tmp_path / "t.tsv", "--output", tmp_path / "data") == 0
    assert (
        cli(
            "train",
            tmp_path / "data",
            "--run",
            tmp_path / "run",
            "--set=model.decoder=dot",
            "--set=model.dim=8",
            "--set=training.epochs=1",
            "--set=negatives.count=50",
        )
        == 0
    )
    capfd.readouterr()
    assert cli("eval", tmp_path / "run", "--json") == 0
    told = capfd.readouterr()
    result = json.loads(told.out)
    excluded = loops < len(rows) / 1000
    assert result["query_node"] == ("left_out" if excluded else "candidate")
    assert result["self_best"] > 0.05
    expected = f"warning: the node asked about scores best of all for {100 * result['self_best']:.1f} % of its own"
    assert (expected in told.err) == (result["self_best"] > 2 * loops / len(rows))
    with_self, without = (printed("eval", tmp_path / "run", f"--{kind}-self") for kind in ("include", "exclude"))
    assert without["mrr"] > with_self["mrr"]
    assert result["mrr"] == (without if excluded else with_self)["mrr"]
    assert with_self["without_self"]["mrr"] == without["mrr"]
    assert without["with_self"]["mrr"] == with_self["mrr"]
    assert cli("eval", tmp_path / "run", "--quiet") == 0
    assert ("with_self" if excluded else "without_self") in capfd.readouterr().out


def test_what_was_never_trained_or_known_before_is_told(cli, printed, tmp_path, capfd):
    pairs = np.random.default_rng(0).permutation(400)[:300]  # each once
    train = np.stack([pairs // 20, 20 + pairs % 20], axis=1)
    np.savetxt(tmp_path / "train", np.insert(train, 1, 0, axis=1), "%d", delimiter="\t")
    (tmp_path / "test").write_text(f"{train[0, 1]}\t0\t{train[0, 0]}\n99\t0\t3\n3\t1\t24\n")
    data, run = tmp_path / "data", tmp_path / "run"
    assert cli("preprocess", tmp_path / "train", "--test", tmp_path / "test", "--output", data) == 0
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith("warning: ")]
    assert [line.split(" edges")[0] for line in lines] == ["warning: test: 1 of 3", "warning: test: 2 of 3"]
    small = ("--set", "training.epochs=1", "--set", "model.dim=4")
    for command in (("info", data), ("train", data, "--run", run, *small), ("eval", run)):
        assert cli(*command) == 0
        told = capfd.readouterr()
        assert [line for line in told.err.splitlines() if line.startswith("warning: ")] == lines
    assert [f"warning: {line}" for line in printed("info", data)["warnings"]] == lines
    (tmp_path / "queries").write_text("99\t0\t?\n?\t1\t99\n3\t0\t?\n")
    first, second, third = printed("predict", run, "--queries", tmp_path / "queries")["queries"]
    assert (first["untrained"], second["untrained"], third["untrained"]) == (["src"], ["dst", "rel"], [])
    assert cli("predict", run, "--queries", tmp_path / "queries") == 0
    noted = capfd.readouterr().err
    assert "warning: 99, 0, ?: no training edge has the node 99:" in noted
    assert noted.count("no training edge has") == noted.count("the model learned nothing about it") == 3


def test_splits_without_an_edge_are_neither_trained_nor_evaluated(cli, tmp_path, capfd):
    (tmp_path / "edges").write_text("1\t2\n2\t3\n3\t4\n")
    small = ("--set", "training.epochs=6", "--set", "model.dim=4", "--set", "training.early_stopping=2")
    assert cli("preprocess", tmp_path / "edges", "--split", "0.99999,0.00001,0", "--output", tmp_path / "no_valid") == 0
    assert cli("train", tmp_path / "no_valid", "--run", tmp_path / "run", *small) == 0
    told = capfd.readouterr().err
    assert "epoch 6 of 6" in told  # what cannot be measured does not stop early
    assert cli("train", tmp_path / "no_valid", "--run", tmp_path / "other", "--set", "evaluation.split=valid") == 2
    assert "`evaluation.split` is valid, but the dataset has train:" in capfd.readouterr().err
    assert cli("preprocess", tmp_path / "edges", "--split", "0.00001,0.99999,0", "--output", tmp_path / "no_train") == 0
    assert cli("train", tmp_path / "no_train", "--run", tmp_path / "third") == 2
    assert "the dataset has no training edges" in capfd.readouterr().err
    assert not (tmp_path / "third").exists()


def test_what_features_tell_is_said_where_there_are_some(cli, tmp_path, capfd):
    rng = np.random.default_rng(0)
    np.savetxt(tmp_path / "train", rng.integers(0, 20, (300, 2)), "%d", delimiter="\t")
    (tmp_path / "test").write_text("20\t3\n1\t2\n")
    np.save(tmp_path / "x.npy", rng.normal(size=(21, 4)).astype(np.float32))
    data, run = tmp_path / "data", tmp_path / "run"
    given = ("--test", tmp_path / "test", "--features", tmp_path / "x.npy", "--adjacency", "in", "--output", data)
    assert cli("preprocess", tmp_path / "train", *given) == 0
    assert (
        "the model learns nothing about it, unless an encoder reads the node's features (1 such nodes)" in capfd.readouterr().err
    )
    small = ("--set", "training.epochs=1", "--set", "model.dim=4", "--set", "model.encoder=sage")
    assert cli("train", data, "--run", run, *small) == 0
    (tmp_path / "queries").write_text("20\t?\n")
    capfd.readouterr()
    assert cli("predict", run, "--queries", tmp_path / "queries") == 0
    assert "no training edge has the node 20: the model knows its features alone" in capfd.readouterr().err


def test_exports_agree_with_each_other(printed, run, tmp_path):
    summary = printed("export", run, "--output", tmp_path / "parquet")
    assert (summary["nodes"], summary["dim"]) == (300, 16)
    printed("export", run, "--output", tmp_path / "npy", "--format", "npy")
    table = pq.read_table(tmp_path / "parquet" / "nodes.parquet")
    ids = (tmp_path / "npy" / "nodes_ids.txt").read_text().split()
    assert table["raw_id"].to_pylist() == ids
    assert len(set(ids)) == 300
    vectors = np.stack(table["vector"].to_numpy())
    assert (vectors == np.load(tmp_path / "npy" / "nodes.npy")).all()
    assert np.abs(vectors).max() > 0.01


def test_info_tells_dataset_run_and_machine(printed, run, tiny_dataset):
    assert printed("info", tiny_dataset, "--verify")["verified"] is True
    told = printed("info", run)
    assert (told["kind"], told["latest"]) == ("run", "12.0.0")
    assert told["checkpoints"] == ["11.0.0", "12.0.0"] or "12.0.0" in told["checkpoints"]
    machine = printed("info")
    assert machine["threads"] >= 1
    assert isinstance(machine["direct_io"], bool)


def test_plan_counts_what_it_prints(printed, tiny_dataset):
    result = printed("plan", tiny_dataset, "--set", "storage.capacity=2")
    assert result["memory"]["total"] == sum(result["memory"][k] for k in ("buffer", "edges", "workspace", "evaluation"))
    assert result["capacity"] == 2
    assert result["first_epoch"]["rows_read"] > 0


@pytest.mark.parametrize("terminal", [True, False])
def test_tables_of_nodes_keep_their_columns_and_control_nothing(cli, run, capfd, monkeypatch, terminal):
    one = Classified(
        np.arange(1), pa.array(["a\x07\tb\n"]), np.ones(1, np.uint8), np.zeros(1, int), np.array([[0.75, 0.25]], "f")
    )
    block = NodeClasses(["c\x1b[31m", "d\te"], "class", one, ["c\x1b[31m"])
    monkeypatch.setattr("marius_lite.predict.run.task_of", lambda _: "node_classification")
    monkeypatch.setattr("marius_lite.predict.nodes.classify_nodes", lambda *_: iter([block]))
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    capfd.readouterr()
    assert cli("predict", run) == 0
    title, row, end = capfd.readouterr().out.split("\n")
    assert title.split("\t") == ["id", "split", "class", r"c\x1b[31m", r"d\te"]
    assert row.split("\t") == [r"a\x07\tb\n", "train", r"c\x1b[31m", "0.7500", "0.2500"]
    assert end == ""


@pytest.mark.parametrize(
    ("command", "option"),
    [
        *(("predict", option) for option in ("--known", "--topk=10", "--include-self", "--exclude-self")),
        *(("eval", option) for option in ("--include-self", "--exclude-self")),
    ],
)
def test_a_run_that_classifies_nodes_refuses_options_about_answers(cli, class_run, capfd, command, option):
    capfd.readouterr()
    assert cli(command, class_run, option) == 2
    said = capfd.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"marius-lite: {option.partition('=')[0]}: {class_run} classifies nodes")


def test_queries_that_are_missing_are_shown_in_both_forms(cli, run, capfd):
    assert cli("predict", run) == 2
    assert "`src rel ?`, or `src ?` where the graph has one relation alone" in capfd.readouterr().err


def test_nothing_is_verified_without_a_folder(cli, capfd):
    assert cli("info", "--verify") == 2
    assert "--verify: nothing to verify without a folder" in capfd.readouterr().err


ODD = ["a\tb", "c\nd", "e\x1b[31m", "f\x9b2J", "g\u202e", "h,i", 'j"']


def test_tables_of_answers_keep_their_columns_and_json_its_ids(cli, printed, capfd, tmp_path):
    edges = {"src": ODD * 3, "rel": ["r\ts"] * len(ODD) * 3, "dst": ODD[1:] * 3 + ODD[:1] * 3}
    pq.write_table(pa.table(edges), tmp_path / "edges.parquet")
    assert cli("preprocess", tmp_path / "edges.parquet", "--output", tmp_path / "data") == 0
    small = ("--set", "training.epochs=1", "--set", "model.dim=4", "--config", "preset:plain")
    assert cli("train", tmp_path / "data", "--run", tmp_path / "run", *small) == 0
    answers = predict_links(tmp_path / "run", [("h,i", "r\ts", None)], len(ODD), known=True, exclude_self=False)[0]["answers"]
    assert {answer["id"] for answer in answers} == {*ODD}
    asked = {"src": ["h,i"], "rel": ["r\ts"], "dst": pa.array([None], pa.string())}
    pq.write_table(pa.table(asked), tmp_path / "q.parquet")
    asking = ("predict", tmp_path / "run", "--queries", tmp_path / "q.parquet", "--known", "--include-self")
    (answered,) = printed(*asking)["queries"]
    assert answered == {"src": "h,i", "rel": "r\ts", "dst": None, "answers": answers, "untrained": []}
    capfd.readouterr()
    assert cli(*asking) == 0
    told = capfd.readouterr()
    rows = [line.split("\t") for line in told.out.split("\n")[:-1]]
    assert [row[:4] for row in rows] == [["h,i", r"r\ts", "?", str(rank + 1)] for rank in range(len(ODD))]
    assert {row[4] for row in rows} == {printable(name) for name in ODD}
    assert not {"\x1b", "\x9b", "\u202e"} & {*told.out, *told.err}
    for format in ("npy", "zarr"):
        assert cli("export", tmp_path / "run", "--output", tmp_path / format, "--format", format) == 2
        assert r"raw id 'c\nd': has a line end" in capfd.readouterr().err
    assert cli("export", tmp_path / "run", "--output", tmp_path / "parquet") == 0
    assert {*pq.read_table(tmp_path / "parquet" / "nodes.parquet")["raw_id"].to_pylist()} == {*ODD}


def test_help_names_the_extra_in_brackets(cli, capfd):
    cli("preprocess", "--help")
    assert "'marius-lite[metis]'" in " ".join(capfd.readouterr().out.split())


def test_a_ctrl_c_while_a_command_works_is_said(cli, capfd, tiny_edges, tmp_path, monkeypatch):
    def pressed(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("marius_lite.preprocess.make.make", pressed)
    assert cli("preprocess", tiny_edges, "--output", tmp_path / "d") == 130
    assert capfd.readouterr().err == "marius-lite: stopped\n"
