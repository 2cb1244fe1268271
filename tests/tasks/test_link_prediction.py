"""Batches of links: every training edge once an epoch, in an order of the seed, against negatives that are resident."""

import numpy as np
import pytest
from open_parts import LINKS, open_parts

from marius_lite.config.load import load
from marius_lite.graph.dataset import Dataset
from marius_lite.sampling.every_resident import EveryResident
from marius_lite.sampling.log_q import log_q
from marius_lite.sampling.negatives import NegativeSampler
from marius_lite.tasks.link_prediction import make_sampler


@pytest.fixture
def work(tiny_dataset):
    with open_parts(tiny_dataset, *LINKS) as parts:
        parts.work.initialise()
        yield parts.work


def batches_of(work, epoch):
    """(step, its batches) of an epoch."""
    for step in work.plan(epoch).steps:
        work.enter(step, None)
        for window in work.windows(step):
            yield step, list(work.open(epoch, window, None).batches(window.first_batch))


def edges_of(dataset):
    p, edges = dataset.partitioning, dataset.edges("train")
    found = []
    for i in range(p.partitions):
        for j in range(p.partitions):
            src, dst, rel = edges.read(i, j)
            found += zip((src + i * p.rows).tolist(), rel.tolist(), (dst + j * p.rows).tolist())
    return found


def test_every_training_edge_once_an_epoch(work, tiny_dataset):
    orders = []
    for epoch in range(2):
        trained = []
        for _, batches in batches_of(work, epoch):
            for batch in batches:
                src, dst = work.rows.node_ids(batch.src), work.rows.node_ids(batch.dst)
                trained += zip(src.tolist(), batch.rel.tolist(), dst.tolist())
        assert sorted(trained) == sorted(edges_of(Dataset.open(tiny_dataset)))
        orders.append(trained)
    assert orders[0] != orders[1]


def test_negatives_are_resident(work):
    for step, batches in batches_of(work, 0):
        for batch in batches:
            prepared = work._learning.prepare(batch)
            nodes = work.rows.node_ids(prepared.rows[-1])
            assert set(nodes // work.rows.partitioning.rows) <= set(step.resident)
            assert len(nodes) == 2 * batch.size + 2 * 20  # both sides, one chunk each
            np.testing.assert_array_equal(prepared.arrays["rel"], batch.rel)


def test_what_is_drawn_ahead_is_drawn_again_alike(work):
    _, batches = next(batches_of(work, 0))
    one, again = (work._learning.prepare(batches[0]) for _ in range(2))
    np.testing.assert_array_equal(one.rows[0], again.rows[0])


@pytest.mark.parametrize(("count", "kind"), [("7", NegativeSampler), ("all", EveryResident)])
def test_negatives_are_drawn_or_all_of_them(count, kind):
    assert isinstance(make_sampler(load(sets=[*LINKS, f"negatives.count={count}"])), kind)


@pytest.mark.parametrize(("count", "fraction", "drawn"), [(10, 0.04, 0.0), (1, 0.6, 1.0), (10, 0.26, 0.3)])
def test_scores_are_corrected_for_the_draws_that_are_made(tiny_dataset, count, fraction, drawn):
    """A share of the negatives is a whole number of them."""
    sets = [f"negatives.count={count}", f"negatives.degree_fraction={fraction}", "negatives.log_q=true"]
    with open_parts(tiny_dataset, *LINKS, *sets) as parts:
        work = parts.work
        work.initialise()
        step = work.plan(0).steps[0]
        work.enter(step, None)
        opened = work.open(0, work.windows(step)[0], None)
        resident = work._learning._resident
        expected = log_q(opened.edges.dst, resident.log_q.shape[1], resident.nodes, drawn)
        np.testing.assert_allclose(resident.log_q[0], expected, rtol=1e-5, atol=1e-6)
