"""Batches of links: every training edge once an epoch, in an order of the seed, against negatives that are resident."""

import numpy as np
import pytest
from open_parts import ENCODER, LINKS, open_parts

from marius_lite.config.load import load
from marius_lite.graph.dataset import Dataset
from marius_lite.sampling.every_resident import EveryResident
from marius_lite.sampling.log_q import log_q
from marius_lite.sampling.negatives import NegativeSampler
from marius_lite.tasks.link_prediction import make_sampler

UNBALANCED = "negatives.balance=false"
"""As on a GPU."""


@pytest.fixture
def work(tiny_dataset):
    with open_parts(tiny_dataset, *LINKS, UNBALANCED) as parts:
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


def alike(work, epoch=0):
    _, batches = next(batches_of(work, epoch))
    return work._learning.alike(work._learning.prepare(batches[0]))


def test_what_batches_have_in_common_that_a_device_repeats(work):
    """All that the host puts into the work as a constant: shapes, and how much is regularized."""
    first = alike(work)
    assert first is not None
    assert first == alike(work, epoch=1) or first[0] != alike(work, epoch=1)[0]  # the first step of another epoch has other edges
    work._learning._model.n3_share = 0.5
    assert alike(work) != first


@pytest.mark.parametrize(
    "sets",
    [
        ["negatives.balance=true"],
        ["negatives.log_q=true", "negatives.degree_fraction=0.5"],
        ["negatives.count=all"],
        ["loss.relation_weight=0.5", "model.decoder=complex"],
    ],
    ids=["meetings", "log q", "answers left out", "relations"],
)
def test_what_has_the_same_shape_for_all_batches_is_repeated(featured, sets):
    with open_parts(featured, *LINKS, UNBALANCED, *sets) as parts:
        parts.work.initialise()
        assert alike(parts.work) is not None


@pytest.mark.parametrize("sets", [["negatives.mask_known=true"], ENCODER], ids=["pairs left out", "encoder"])
def test_nothing_is_repeated_where_the_host_puts_in_more(featured, sets):
    with open_parts(featured, *LINKS, UNBALANCED, *sets) as parts:
        parts.work.initialise()
        assert alike(parts.work) is None


def test_the_model_seeds_what_it_draws_after_the_encoder(featured, monkeypatch):
    """Else both would draw the same numbers."""
    with open_parts(featured, *LINKS, *ENCODER) as parts:
        parts.work.initialise()
        learning, order = parts.work._learning, []

        def seed(*arguments):
            order.append("model")
            raise KeyError("seed")

        vectors = type(learning._representation).vectors
        monkeypatch.setattr(type(learning._representation), "vectors", lambda *given: order.append("encoder") or vectors(*given))
        monkeypatch.setattr(type(learning._model), "seed", seed)
        _, batches = next(batches_of(parts.work, 0))
        stages = parts.work.stages()
        with pytest.raises(KeyError, match="seed"):
            stages.learn(stages.gather(stages.sample(batches[0])))
        assert order == ["encoder", "model"]
