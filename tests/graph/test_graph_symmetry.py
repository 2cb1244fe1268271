"""The share of edges that stand there both ways is that of the edges, however they lie in buckets and pieces."""

import random

import pytest

from marius_lite.graph import symmetry
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.symmetry import directions


def dataset_of(cli, folder, pairs, *options):
    (folder / "edges.tsv").write_text("".join(f"n{s}\tn{t}\n" for s, t in pairs))
    assert cli("preprocess", folder / "edges.tsv", "--output", folder / "data", *options) == 0
    return Dataset.open(folder / "data")


def drawn(nodes, edges, seed=0):
    """Different pairs of nodes, each in one direction."""
    chance = random.Random(seed)
    pairs = [(s, t) for s in range(nodes) for t in range(s)]
    return [pair if chance.random() < 0.5 else pair[::-1] for pair in chance.sample(pairs, edges)]


@pytest.mark.parametrize("twice", [0, 150, 300])
def test_the_share_is_exact_where_one_bucket_has_all_edges(cli, tmp_path, twice):
    pairs = drawn(60, 300)
    pairs += [(t, s) for s, t in pairs[:twice]] + [(7, 7)]
    assert directions(dataset_of(cli, tmp_path, pairs, "--partitions", "1")).both_ways == 2 * twice / (300 + twice)


@pytest.mark.parametrize("partitions", [1, 4])
@pytest.mark.parametrize("piece", [200, 700])
def test_pieces_and_partitions_tell_about_the_same(cli, tmp_path, monkeypatch, partitions, piece):
    monkeypatch.setattr(symmetry, "BUCKET_SAMPLE", piece)
    pairs = drawn(60, 800)
    half = dataset_of(cli, tmp_path, pairs + [(t, s) for s, t in pairs[:400]], "--partitions", str(partitions))
    assert 0.4 < directions(half).both_ways < 0.9  # 2 in 3
    (tmp_path / "all").mkdir()
    assert directions(dataset_of(cli, tmp_path / "all", pairs, "--undirected", "--partitions", str(partitions))).both_ways == 1


def test_a_split_of_single_edges_does_not_hide_that_a_graph_is_undirected(cli, tmp_path):
    """Edges of both directions, a tenth of which went to another file: the reverse of a tenth of the rest is not in training."""
    pairs = drawn(60, 800)
    pairs += [(t, s) for s, t in pairs]
    random.Random(1).shuffle(pairs)
    (tmp_path / "valid.tsv").write_text("".join(f"n{s}\tn{t}\n" for s, t in pairs[:160]))
    data = dataset_of(cli, tmp_path, pairs[160:], "--valid", tmp_path / "valid.tsv", "--partitions", "2")
    assert directions(data).both_ways < 1
    assert directions(data).undirected


def test_links_from_one_kind_of_node_to_another_have_a_direction(cli, tmp_path):
    assert directions(dataset_of(cli, tmp_path, [(i, 100 + i * j % 40) for i in range(50) for j in range(4)])).both_ways == 0


def test_a_graph_of_self_loops_is_not_taken_for_undirected(cli, tmp_path):
    assert not directions(dataset_of(cli, tmp_path, [(i, i) for i in range(10)])).undirected


@pytest.mark.parametrize("answered", [0, 1])
def test_edges_of_which_none_is_answered_may_be_undirected_ones_each_once(cli, tmp_path, answered):
    pairs = drawn(60, 1200)
    links = directions(dataset_of(cli, tmp_path, pairs + [(t, s) for s, t in pairs[:answered]], "--partitions", "1"))
    assert not links.undirected
    assert links.perhaps_each_edge_once == (not answered)


def test_users_and_items_are_two_kinds_of_nodes(cli, tmp_path):
    links = directions(dataset_of(cli, tmp_path, [(s, 100 + t) for s, t in drawn(60, 1200)]))
    assert not links.one_kind
    assert not links.perhaps_each_edge_once
