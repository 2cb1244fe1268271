"""Ranks equal a naive implementation's, whatever the partitions, memory, decoder, filter and ties."""

import json

import numpy as np
import pytest
import torch
from ranking_fakes import FakeBuffer, FakeEdges

from marius_lite.config.load import load
from marius_lite.config.memory import EVALUATION_BYTES, MOST_RANKING_BYTES, device_bytes
from marius_lite.errors import RunError
from marius_lite.evaluate import EdgeBlock, Ranker, RankingOptions, rank
from marius_lite.evaluate.ranking import BYTES_PER_SCORE
from marius_lite.evaluate.scorer import TileShape
from marius_lite.graph.partitioning import Partitioning
from marius_lite.nn.decoders import DECODERS, decoder_class
from marius_lite.nn.model import LinkPredictionModel

NODES, RELATIONS, DIM = 61, 3, 8
SPLITS = ("train", "valid", "test")
TIES = ("realistic", "optimistic", "pessimistic")


@pytest.fixture(autouse=True)
def one_thread():
    """Many small products: threads cost more than they give, most of all on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def world(decoder="distmult", reciprocal=False, seed=0, nodes=NODES, edges=300):
    """A table of small integers (inner products are exact, ties common), relation rows, split edges."""
    rng = np.random.default_rng(seed)
    table = rng.integers(-2, 3, (nodes, DIM)).astype(np.float32)
    width = decoder_class(decoder).relation_dim(DIM)
    relations = rng.integers(-2, 3, (RELATIONS * (1 + reciprocal), width)).astype(np.float32)
    if decoder_class(decoder).similarity not in ("inner", "l1"):
        table, relations = (each + rng.random(each.shape, np.float32) for each in (table, relations))
    triples = np.stack([rng.integers(0, limit, edges) for limit in (nodes, RELATIONS, nodes)], axis=1)
    triples[: edges // 4, :2] = triples[0, :2]  # a hub question
    rng.shuffle(triples)
    parts = np.split(triples, [edges * 3 // 5, edges * 4 // 5])
    return table, torch.from_numpy(relations), dict(zip(SPLITS, parts))


def scorer_of(decoder, relations, reciprocal=False):
    count = len(relations) // (1 + reciprocal)
    model = LinkPredictionModel(decoder, count, 2, np.random.default_rng(0), reciprocal=reciprocal)
    model.relations = torch.nn.Parameter(relations)
    return model


def block(triples):
    return EdgeBlock(triples[:, 0].copy(), triples[:, 1].copy(), triples[:, 2].copy())


def ranker_of(table, scorer, splits, p=4, slots=2, **options):
    partitioning = Partitioning(len(table), p)
    known = [FakeEdges(edges, partitioning) for edges in splits.values()]
    return Ranker(FakeBuffer(table, partitioning, slots), partitioning, table.shape[1], scorer, known, RankingOptions(**options))


def naive_ranks(table, scorer, splits, triples, filtered, ties):
    """One edge at a time, one candidate set at a time."""
    true = {tuple(edge) for edges in splits.values() for edge in edges.tolist()}
    rows = torch.from_numpy(table)
    result = np.empty((2, len(triples)))
    for at, (s, r, t) in enumerate(triples.tolist()):
        for side, (node, answer) in enumerate(((s, t), (t, s))):
            scores = scorer.scores(scorer.query(rows[[node]], torch.tensor([r]), side), rows)[0]
            others = [
                c for c in range(len(table)) if c != answer and not (filtered and ((s, r, c) if side == 0 else (c, r, t)) in true)
            ]
            above = int((scores[others] > scores[answer]).sum())
            equal = int((scores[others] == scores[answer]).sum())
            shared = {"realistic": equal / 2, "optimistic": 0, "pessimistic": equal}
            result[side, at] = 1 + above + shared[ties]
    return result


@pytest.mark.parametrize("reciprocal", [False, True])
@pytest.mark.parametrize("decoder", sorted(DECODERS))
@pytest.mark.parametrize("filtered", [False, True])
def test_ranks_equal_the_naive_ones(decoder, reciprocal, filtered):
    table, relations, splits = world(decoder, reciprocal)
    scorer = scorer_of(decoder, relations, reciprocal)
    triples = splits["test"]
    expected = naive_ranks(table, scorer, splits, triples, filtered, "realistic")
    found = ranker_of(table, scorer, splits, filtered=filtered).ranks(block(triples))
    np.testing.assert_array_equal(found, expected)
    assert expected.std() > 1


@pytest.mark.parametrize("shape", [(5, 4, 8), (3, 7, 7), (64, 16, 64)])
def test_the_shape_of_tiles_changes_nothing(shape, monkeypatch):
    """Partitions have 15 or 16 nodes, so they have several tiles, of which some are looked at together."""
    table, relations, splits = world()
    scorer, triples = scorer_of("distmult", relations), splits["test"]
    monkeypatch.setattr(TileShape, "on", classmethod(lambda cls, device: cls(*shape)))
    found = ranker_of(table, scorer, splits, compared=True).ranked(block(triples))
    np.testing.assert_array_equal(found.ranks, naive_ranks(table, scorer, splits, triples, True, "realistic"))
    monkeypatch.undo()
    for one, other in zip(found, ranker_of(table, scorer, splits, compared=True).ranked(block(triples)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("ties", TIES)
def test_ties(ties):
    table, relations, splits = world()
    scorer = scorer_of("distmult", relations)
    found = ranker_of(table, scorer, splits, ties=ties).ranks(block(splits["test"]))
    np.testing.assert_array_equal(found, naive_ranks(table, scorer, splits, splits["test"], True, ties))


def test_realistic_is_the_mean_of_the_other_two():
    table, relations, splits = world()
    scorer = scorer_of("distmult", relations)
    realistic, optimistic, pessimistic = (
        ranker_of(table, scorer, splits, ties=ties).ranks(block(splits["test"])) for ties in TIES
    )
    np.testing.assert_array_equal(realistic, (optimistic + pessimistic) / 2)
    assert (optimistic < pessimistic).any()


@pytest.mark.parametrize("decoder", sorted(DECODERS))
def test_partitions_do_not_change_a_bit(decoder):
    """Random floats with duplicated rows: any difference in rounding between equal rows would break a tie."""
    _, _, splits = world()
    rng = np.random.default_rng(3)
    table = rng.standard_normal((NODES, 50)).astype(np.float32)[rng.integers(0, 12, NODES)]
    relations = rng.standard_normal((RELATIONS, decoder_class(decoder).relation_dim(50))).astype(np.float32)
    scorer = scorer_of(decoder, torch.from_numpy(relations))
    results = [
        ranker_of(table, scorer, splits, p, slots).ranks(block(splits["test"]))
        for p, slots in ((1, 1), (16, 2), (16, 16), (31, 1))
    ]
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)
    assert (results[0] % 1 == 0.5).any()


def test_equal_rows_get_equal_scores_at_every_place_of_a_tile():
    """The positive meets its twins in other tiles and columns: all must tie with it exactly."""
    rng = np.random.default_rng(0)
    for dim in (3, 50, 127, 400):
        row = rng.standard_normal((1, dim)).astype(np.float32)
        table = np.repeat(row, 2500, axis=0)
        relations = torch.from_numpy(rng.standard_normal((1, dim)).astype(np.float32))
        edges = np.stack([rng.integers(0, 2500, 300), np.zeros(300, int), rng.integers(0, 2500, 300)], 1)
        ranker = ranker_of(table, scorer_of("distmult", relations), {}, p=3, filtered=False)
        ranks = ranker.ranks(block(edges))
        np.testing.assert_array_equal(ranks, 1 + 2499 / 2)


def test_a_constant_scorer_is_no_better_than_chance():
    table, relations, splits = world()
    scorer = scorer_of("distmult", torch.zeros_like(relations))
    partitioning = Partitioning(NODES, 4)
    result = rank(
        FakeBuffer(table, partitioning), partitioning, DIM, scorer, [block(splits["test"])], [], RankingOptions(filtered=False)
    )
    assert result["mean_rank"] == (NODES + 1) / 2
    assert result["mrr"] == pytest.approx(2 / (NODES + 1))
    assert result["hits@1"] == result["hits@10"] == 0


@pytest.mark.parametrize("where", ["node", "relation", "candidate"])
def test_nan_is_an_error(where):
    table, relations, splits = world()
    edges = splits["test"][:5]
    if where == "relation":
        relations[edges[2, 1]] = np.nan
    else:
        used = set(edges[:, [0, 2]].ravel().tolist())
        table[edges[2, 0] if where == "node" else min(set(range(NODES)) - used), 3] = np.nan
    with pytest.raises(RunError, match="not a number"):
        ranker_of(table, scorer_of("distmult", relations), splits).ranks(block(edges))


def test_infinite_scores_are_ranked():
    table, relations, splits = world()
    table[:, 0], relations[:, 0] = 1, 1
    table[5, 0] = np.inf
    edges = splits["test"][(splits["test"][:, [0, 2]] != 5).all(axis=1)]
    scorer = scorer_of("distmult", relations)
    np.testing.assert_array_equal(
        ranker_of(table, scorer, splits).ranks(block(edges)), naive_ranks(table, scorer, splits, edges, True, "realistic")
    )


@pytest.mark.parametrize("split", SPLITS)
def test_every_split_filters(split):
    """A better-scored node is left out when, and only when, one of the splits knows it."""
    table = np.arange(10, dtype=np.float32)[:, None].repeat(2, axis=1)
    scorer = scorer_of("dot", torch.zeros(1, 0))
    splits = {name: np.empty((0, 3), int) for name in SPLITS} | {split: np.array([[1, 0, 9], [1, 0, 9]])}
    asked = np.array([[1, 0, 7]])
    filtered = ranker_of(table, scorer, splits).ranks(block(asked))
    raw = ranker_of(table, scorer, splits, filtered=False).ranks(block(asked))
    assert (filtered[0, 0], raw[0, 0]) == (2, 3)


def test_little_memory_changes_nothing():
    """So little that the known answers of a block must be taken in parts."""
    table, relations, splits = world(nodes=20, edges=700)
    scorer = scorer_of("distmult", relations)
    small = ranker_of(table, scorer, splits, memory=0)
    calls = []
    small._known.find, find = lambda *a: calls.append(find(*a)) or calls[-1], small._known.find
    np.testing.assert_array_equal(
        small.ranks(block(splits["test"])), ranker_of(table, scorer, splits).ranks(block(splits["test"]))
    )
    assert None in calls
    assert small.block_size < ranker_of(table, scorer, splits).block_size


@pytest.mark.parametrize(("device", "dim"), [("cpu", 100), ("cpu", 512), ("meta", 100), ("meta", 2048)])
def test_blocks_have_many_questions_beside_large_tiles_and_a_million_kept_edges(device, dim, monkeypatch):
    """A pass over the table for each few questions takes long. Tiles on another device take none of the host's memory."""
    if device != "cpu":
        monkeypatch.setattr(TileShape, "on", classmethod(lambda cls, device: cls(2048, 4096, 4096)))
    model, partitioning = scorer_of("distmult", torch.empty(1, dim, device=device)), Partitioning(10_000, 1)
    edges = FakeEdges(np.zeros((1_000_000, 3), int), partitioning)
    ranker = Ranker(None, partitioning, dim, model, [edges], RankingOptions(memory=EVALUATION_BYTES))
    assert ranker.block_size > 1024


@pytest.mark.parametrize("dim", [1024, 2048])
def test_wide_rows_leave_room_for_blocks(dim):
    """Queries are made some at a time, in bytes: 4,096 of 1,024 numbers would take half of the memory."""
    partitioning, model = Partitioning(10_000, 1), scorer_of("distmult", torch.empty(1, dim))
    ranker = Ranker(None, partitioning, dim, model, [], RankingOptions(memory=EVALUATION_BYTES))
    assert ranker._room > 0
    roomy = Ranker(None, partitioning, dim, model, [], RankingOptions(memory=MOST_RANKING_BYTES))
    assert roomy.block_size > 8000


def test_a_tile_on_a_device_is_counted_beside_small_batches():
    shape = TileShape.on(torch.device("cuda"))
    counted = device_bytes(load(sets=["training.batch_size=10", "negatives.count=10"]), 0, 0, 100, 1)["scores"]
    assert counted >= shape.queries * shape.together * BYTES_PER_SCORE


def test_blocks_do_not_change_the_numbers():
    table, relations, splits = world(edges=3000)
    scorer = scorer_of("distmult", relations)
    ranker = ranker_of(table, scorer, splits)
    whole = ranker.ranks(block(splits["test"]))
    parts = [ranker.ranks(part) for part in block(splits["test"]).split(70)]
    np.testing.assert_array_equal(whole, np.concatenate(parts, axis=1))


@pytest.mark.parametrize("p", [1, 4])
def test_sampling_everything_is_ranking_everything(p):
    table, relations, splits = world()
    scorer = scorer_of("distmult", relations)
    full, everything = (ranker_of(table, scorer, splits, p, candidates=k) for k in (None, NODES))
    np.testing.assert_array_equal(full.ranks(block(splits["test"])), everything.ranks(block(splits["test"])))
    assert full.label == everything.label == "all"


def test_sampled_candidates_come_from_the_whole_table():
    """The same ones for any partitions and slots; ranks are those among the sample."""
    table, relations, splits = world()
    scorer = scorer_of("distmult", relations)
    rankers = [ranker_of(table, scorer, splits, p, 2, candidates=20, seed=5) for p in (1, 4, 16)]
    ranks = [ranker.ranks(block(splits["test"])) for ranker in rankers]
    np.testing.assert_array_equal(ranks[0], ranks[1])
    np.testing.assert_array_equal(ranks[0], ranks[2])
    assert rankers[0].label == "sampled(20)"
    assert ranks[0].max() <= 21
    full = ranker_of(table, scorer, splits).ranks(block(splits["test"]))
    assert (ranks[0] <= full).all()
    assert (ranks[0] < full).any()
    other = ranker_of(table, scorer, splits, candidates=20, seed=6).ranks(block(splits["test"]))
    assert (other != ranks[0]).any()


def test_resident_partitions_are_not_read_again_and_each_pass_reads_once():
    table, relations, splits = world()
    scorer = scorer_of("distmult", relations)
    resident, paged = ranker_of(table, scorer, splits, 8, 8), ranker_of(table, scorer, splits, 8, 2)
    for ranker in (resident, paged):
        ranker.ranks(block(splits["test"]))
    assert resident._pages._buffer.loads == 8
    assert paged._pages._buffer.loads <= 2 * 8


def test_result_is_ready_for_json():
    table, relations, splits = world()
    partitioning = Partitioning(NODES, 4)
    known = [FakeEdges(edges, partitioning) for edges in splits.values()]
    scorer = scorer_of("distmult", relations)
    result = rank(
        FakeBuffer(table, partitioning),
        partitioning,
        DIM,
        scorer,
        block(splits["test"]).split(9),
        known,
        RankingOptions(),
        ["likes", "knows", "is"],
    )
    ranks = naive_ranks(table, scorer, splits, splits["test"], True, "realistic")
    assert list(result)[:2] == ["split", "mrr"]
    assert json.loads(json.dumps(result)) == result
    assert result["mrr"] == pytest.approx((1 / ranks).mean())
    assert result["hits@3"] == pytest.approx((ranks <= 3).mean())
    assert result["mean_rank"] == pytest.approx(ranks.mean())
    assert result["count"] == len(splits["test"])
    assert (result["candidates"], result["filtered"], result["ties"]) == ("all", True, "realistic")
    for side, row in (("destination", 0), ("source", 1)):
        assert result["per_side"][side]["mrr"] == pytest.approx((1 / ranks[row]).mean())
    assert set(result["per_relation"]) == {"likes", "knows", "is"}
    for rel, name in enumerate(("likes", "knows", "is")):
        of = splits["test"][:, 1] == rel
        assert result["per_relation"][name] == {
            "mrr": pytest.approx((1 / ranks[:, of]).mean()),
            "destination_mrr": pytest.approx((1 / ranks[0, of]).mean()),
            "source_mrr": pytest.approx((1 / ranks[1, of]).mean()),
            "count": int(of.sum()),
            "hits@10": pytest.approx((ranks[:, of] <= 10).mean()),
        }


def test_no_edges_give_no_numbers():
    table, relations, _ = world()
    partitioning = Partitioning(NODES, 4)
    scorer = scorer_of("distmult", relations)
    result = rank(FakeBuffer(table, partitioning), partitioning, DIM, scorer, [], [], RankingOptions())
    assert (result["mrr"], result["count"], result["per_relation"]) == (None, 0, {})
