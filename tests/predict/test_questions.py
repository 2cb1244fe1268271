"""Predictions are the best-scored nodes, with raw ids, whatever the partitions and slots."""

import numpy as np
import pytest
import torch

from marius_lite.errors import RunError, UserError
from marius_lite.evaluate import select_edges
from marius_lite.evaluate.answers import Asked, LeftOut, answer
from marius_lite.evaluate.pages import Pages
from marius_lite.graph.dataset import Dataset
from marius_lite.nn.model import LinkPredictionModel
from marius_lite.predict.answered import Answered
from marius_lite.predict.nodes import read_nodes
from marius_lite.predict.questions import Questions, read_questions
from marius_lite.preprocess.build import preprocess
from marius_lite.preprocess.options import Options
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.table import RowTable

NODES, DIM, WIDTH = 70, 6, 8


def make_dataset(folder, p, ids="str", relations=True):
    rng = np.random.default_rng(0)
    triples = np.stack([rng.integers(0, limit, 900) for limit in (NODES, 3, NODES)], axis=1)
    triples[:NODES, 0] = np.arange(NODES)
    name, rel = ("n" if ids == "str" else ""), ("r{}\t" if relations else "")
    lines = [f"{name}{s}\t{rel.format(r)}{name}{t}\n" for s, r, t in triples]
    folder.mkdir()
    (folder / "edges.tsv").write_text("".join(lines))
    columns = "src,rel,dst" if relations else "src,dst"
    preprocess(
        Options.parse(
            edges=[str(folder / "edges.tsv")], output=folder / "dataset", columns=columns, split="0.9,0.05,0.05", partitions=p
        )
    )
    return Dataset.open(folder / "dataset")


def readable(dataset, questions, answers):
    return Answered(dataset, questions, answers, None, [[]] * len(questions.raw)).dicts()


def asked_by(queries, dataset):
    (questions,) = read_questions(queries, dataset, 1000)
    return questions


class World:
    """A dataset of ``p`` partitions, a table whose values follow the raw ids, and a model."""

    def __init__(self, folder, p=4, values=None, **options):
        self.dataset = make_dataset(folder, p, **options)
        partitioning = self.dataset.partitioning
        raw = self.dataset.raw_ids(0, NODES).to_pylist()
        if values is None:
            values = np.random.default_rng(1).standard_normal((NODES, DIM)).astype(np.float32)
        self.values = values[[int(str(each).lstrip("n")) for each in raw]]
        self.table = RowTable.create(folder / "nodes", NODES, WIDTH, partitioning.rows)
        with PartitionBuffer(self.table, partitioning.partitions) as buffer:
            for k in range(partitioning.partitions):
                span = partitioning.range(k)
                buffer.adopt(k)[:, :DIM] = self.values[span.start : span.stop]
        rng = np.random.default_rng(2)
        self.model = LinkPredictionModel("complex", self.dataset.manifest.relations, DIM, rng)

    def answer(self, questions, topk, known=True, slots=2):
        splits = [] if known else [self.dataset.edges(split) for split in self.dataset.manifest.edges]
        with PartitionBuffer(self.table, slots) as buffer:
            pages = Pages(buffer, self.dataset.partitioning, DIM)
            return answer(pages, self.model, Asked(*questions[:3]), topk, LeftOut(splits))


@pytest.fixture
def world(tmp_path):
    return World(tmp_path / "world")


def questions_of(count, relations, seed=0):
    rng = np.random.default_rng(seed)
    return Questions(*(rng.integers(0, limit, count) for limit in (2, NODES, relations)), [])


@pytest.mark.parametrize("topk", [1, 5, NODES, 1000])
@pytest.mark.parametrize("known", [True, False])
def test_the_best_nodes_in_order(world, topk, known):
    questions = questions_of(40, 3)
    found = world.answer(questions, topk, known)
    true = set()
    if not known:
        true = {
            edge
            for split in world.dataset.manifest.edges
            for block in select_edges(world.dataset.edges(split), None, 0)
            for edge in zip(*(column.tolist() for column in block))
        }
    rows = torch.from_numpy(world.values)
    assert found.nodes.shape == (40, min(topk, NODES))
    for at, (side, node, rel) in enumerate(zip(*questions[:3])):
        query = world.model.query(rows[[node]], torch.tensor([rel]), side)
        scores = world.model.scores(query, rows)[0].numpy()
        left = [c for c in range(NODES) if ((node, rel, c) if side == 0 else (c, rel, node)) not in true]
        expected = sorted(left, key=lambda c: (-scores[c], c))[:topk]
        there = found.nodes[at] >= 0
        assert found.nodes[at][there].tolist() == expected
        np.testing.assert_allclose(found.scores[at][there], scores[expected], rtol=1e-5, atol=1e-6)
        assert (found.scores[at][~there] == -np.inf).all()


@pytest.mark.parametrize("slots", [1, 2, 4])
def test_slots_do_not_matter(world, slots):
    questions = questions_of(20, 3)
    for one, other in zip(world.answer(questions, 7, False, slots), world.answer(questions, 7, False, 3)):
        np.testing.assert_array_equal(one, other)


def test_partitions_do_not_matter(tmp_path):
    """The same raw ids and bit for bit the same scores with 1 and with 9 partitions."""
    lines = "\n".join(f"n{i},r{i % 3},?" if i % 2 else f"?,r{i % 3},n{i}" for i in range(30))
    (tmp_path / "queries").write_text(lines)
    results = []
    for p in (1, 9):
        world = World(tmp_path / f"p{p}", p)
        questions = asked_by(tmp_path / "queries", world.dataset)
        results.append(list(readable(world.dataset, questions, world.answer(questions, 5, slots=min(p, 2)))))
    assert results[0] == results[1]


def test_equal_scores_come_by_node_id(tmp_path):
    world = World(tmp_path / "ties", values=np.ones((NODES, DIM), np.float32))
    found = world.answer(questions_of(5, 3), 8)
    assert found.nodes.tolist() == [list(range(8))] * 5


def test_answers_carry_raw_ids(world, tmp_path):
    (tmp_path / "queries").write_text("n3,r1,?\n\n?\tr2\tn5\n")
    questions = asked_by(tmp_path / "queries", world.dataset)
    first, second = readable(world.dataset, questions, world.answer(questions, 2))
    assert (first["src"], first["rel"], first["dst"]) == ("n3", "r1", None)
    assert (second["src"], second["rel"], second["dst"]) == (None, "r2", "n5")
    best = world.answer(questions, 2).nodes[0]
    names = world.dataset.raw_ids(0, NODES).take(best.tolist()).to_pylist()
    assert [each["id"] for each in first["answers"]] == names


def test_a_query_has_the_ids_that_its_answers_have(tmp_path):
    """Integers where the dataset's are, whatever kind of ids its relations have."""
    world = World(tmp_path / "world", ids="int")
    (tmp_path / "queries").write_text("3,r1,?\n?,r2,05\n")
    for given in (tmp_path / "queries", [(3, "r1", None), ("?", "r2", np.int64(5))]):
        questions = asked_by(given, world.dataset)
        assert questions.raw == [(3, "r1", None), (None, "r2", 5)]
        for each in readable(world.dataset, questions, world.answer(questions, 2)):
            assert {type(answer["id"]) for answer in each["answers"]} == {int}


@pytest.mark.parametrize(("rel", "expected"), [("{}", int), ("r{}", str)])
def test_relations_of_queries_are_those_of_the_dataset(tmp_path, rel, expected):
    lines = "".join(f"{s}\t{rel.format(s % 3)}\t{s * 7 % 50}\n" for s in range(50))
    (tmp_path / "edges.tsv").write_text(lines)
    preprocess(Options.parse(edges=[str(tmp_path / "edges.tsv")], output=tmp_path / "dataset"))
    dataset = Dataset.open(tmp_path / "dataset")
    ((_, relation, _),) = asked_by([(1, rel.format(2), None)], dataset).raw
    assert type(relation) is expected
    assert relation in dataset.relation_names()


def test_rows_ask_as_lines_do(world, tmp_path):
    (tmp_path / "queries").write_text("n3,r1,?\n?\tr2\tn5\n")
    lines = asked_by(tmp_path / "queries", world.dataset)
    rows = [("n3", "r1", None), (None, "r2", "n5")]
    for given in (rows, np.array(rows, object), iter(rows), [list(row) for row in rows]):
        asked = asked_by(given, world.dataset)
        assert asked.raw == lines.raw
        for one, other in zip(asked[:3], lines[:3]):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "queries: no queries"),
        ([("n1", "r0", None), ("n1", "r0")], "row 1: found 'n1,r0': a query is src,rel,\\? or \\?,rel,dst"),
        ([(None, "r0", None)], "row 0"),
        (["n1,r0,?"], "row 0"),
        ([("nobody", "r0", None)], "row 0: the dataset has no node 'nobody'"),
    ],
)
def test_bad_rows_name_their_place(world, rows, words):
    with pytest.raises(UserError, match=words):
        asked_by(rows, world.dataset)


def test_integer_ids_and_no_relations(tmp_path):
    world = World(tmp_path / "ints", ids="int", relations=False)
    (tmp_path / "queries").write_text("3,?\n?,5\n")
    questions = asked_by(tmp_path / "queries", world.dataset)
    assert questions.side.tolist() == [0, 1]
    assert questions.node.tolist() == world.dataset.lookup_nodes([3, 5]).tolist()
    answers = list(readable(world.dataset, questions, world.answer(questions, 3)))
    assert all(isinstance(each["id"], int) for each in answers[0]["answers"])
    for wrong in ("x", "-", "--5", "3.0", str(2**63), str(-(2**63) - 1), "9" * 5000, "0" * 5000):
        (tmp_path / "queries").write_text(f"3,?\n{wrong},?\n")
        with pytest.raises(UserError, match=f"queries, line 2: '{wrong[:20]}.* is no node id"):
            asked_by(tmp_path / "queries", world.dataset)
    for unknown in (str(2**63 - 1), str(-(2**63)), "-0099"):
        (tmp_path / "queries").write_text(f"{unknown},?\n")
        with pytest.raises(UserError, match=f"line 1: the dataset has no node '{unknown}'"):
            asked_by(tmp_path / "queries", world.dataset)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no queries"),
        ("n1,r0,?\nn1,r0\n", "line 2: found 'n1,r0': a query is src,rel,\\?"),
        ("?,r0,?\n", "line 1"),
        ("n1,r0,n2\n", "line 1"),
        ("n1,r0,?\nnobody,r0,?\n", "line 2: the dataset has no node 'nobody'"),
        ("n1,love,?\n", "line 1: the dataset has no relation 'love'"),
    ],
)
def test_bad_queries_name_their_line(world, tmp_path, text, words):
    (tmp_path / "queries").write_text(text)
    with pytest.raises(UserError, match=words):
        asked_by(tmp_path / "queries", world.dataset)


def test_a_missing_file(world, tmp_path):
    with pytest.raises(UserError, match=r"queries: No such file or directory: name a file that can be read$"):
        asked_by(tmp_path / "queries", world.dataset)


def test_queries_that_are_no_text(world, tmp_path):
    (tmp_path / "queries").write_bytes(b"n1,r0,?\n\xff,r0,?\n")
    with pytest.raises(UserError, match=r"queries, line 2: cannot be read as text: .* byte 0xff in position 0"):
        asked_by(tmp_path / "queries", world.dataset)


@pytest.mark.parametrize("most", [1, 3, 7])
def test_blocks_are_the_queries_in_their_order(world, tmp_path, most):
    rows = [(f"n{i}", f"r{i % 3}", None) if i % 2 else (None, f"r{i % 3}", f"n{i}") for i in range(7)]
    (tmp_path / "queries").write_text("\n\n".join("\t".join(part or "?" for part in row) for row in rows))
    whole = asked_by(rows, world.dataset)
    for given in (rows, tmp_path / "queries"):
        blocks = list(read_questions(given, world.dataset, most))
        assert max(len(block.raw) for block in blocks) == most
        assert [raw for block in blocks for raw in block.raw] == whole.raw == rows
        for column in range(3):
            np.testing.assert_array_equal(np.concatenate([block[column] for block in blocks]), whole[column])


def test_no_more_is_read_than_is_asked_for(world):
    read = []
    endless = (read.append(i) or ("n1", "r0", None) for i in range(10**9))
    blocks = read_questions(endless, world.dataset, 5)
    assert [len(next(blocks).raw) for _ in range(3)] == [5, 5, 5]
    assert len(read) <= 20


def test_topk_and_nan_are_checked(world):
    with pytest.raises(UserError, match="topk is 0"):
        world.answer(questions_of(2, 3), 0)
    world.model.relations.data[:] = np.nan
    with pytest.raises(RunError, match="not a number"):
        world.answer(questions_of(2, 3), 2)


def test_ids_keep_their_spaces_where_the_dataset_has_such_ids(tmp_path):
    """' a' and 'a' are two nodes, and '  ' a relation: edge files keep spaces, so queries do. Spaces that belong to none go."""
    (tmp_path / "edges.tsv").write_text(" a\t  \tb\na\t  \tb\nb\t r\tc \nc \t r\ta\n")
    preprocess(Options.parse(edges=[str(tmp_path / "edges.tsv")], output=tmp_path / "dataset", columns="src,rel,dst"))
    dataset = Dataset.open(tmp_path / "dataset")
    (tmp_path / "q").write_text(" a\t  \t?\na\t  \t ? \n?\t r\tc \n  b, r,?\r\n")
    asked = asked_by(tmp_path / "q", dataset)
    assert asked.raw == [(" a", "  ", None), ("a", "  ", None), (None, " r", "c "), ("b", " r", None)]
    assert dataset.lookup_nodes([" a", "a", "c ", "b"]).tolist() == asked.node.tolist()
    (tmp_path / "ids").write_text(" a\nb \n")
    assert sorted(read_nodes(tmp_path / "ids", dataset)) == sorted(dataset.lookup_nodes([" a", "b"]))
