"""Cluster batches: what they make of the settings, a bound on their edges, and settings that they cannot have."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.config.clusters import most_edges, usual_group
from marius_lite.config.load import load
from marius_lite.errors import UserError
from marius_lite.graph import Dataset
from marius_lite.tasks.resolved import resolved

SETS = ["task=node_classification", "model.encoder=sage", "training.method=cluster"]


@given(st.data(), st.integers(1, 12), st.integers(0, 2**30))
def test_no_group_has_more_edges_than_the_bound(data, p, seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 50, (p, p)) * rng.integers(0, 2, (p, p))
    group = rng.permutation(p)[: data.draw(st.integers(1, p))]
    assert counts[np.ix_(group, group)].sum() <= most_edges(counts, len(group)) <= counts.sum()
    assert most_edges(counts, p) == counts.sum()


def test_a_64th_of_the_partitions_makes_a_batch():
    assert [usual_group(p) for p in (1, 63, 64, 1024)] == [1, 1, 1, 16]


def test_settings_of_sampling_do_not_count(communities):
    dataset = Dataset.open(communities)
    config, memory = resolved(dataset, load(sets=[*SETS, "sampling.fanouts=[3]", "training.batch_size=7"]))
    assert (config.storage.capacity, config.storage.ordering) == (1, "clusters")
    assert config.sampling.fanouts == (-1,)
    assert config.training.batch_size == 120
    assert (memory.slots, memory.spare) == (2, 1)
    again, same = resolved(dataset, config)
    assert (again, same) == (config, memory)


def test_more_partitions_take_more_memory_and_what_does_not_fit_is_refused(communities):
    dataset = Dataset.open(communities)
    totals = [resolved(dataset, load(sets=[*SETS, f"storage.capacity={q}"]))[1].workspace for q in (1, 2, 4, 8)]
    assert totals == sorted(totals)
    assert totals[-1] > 2 * totals[0]
    with pytest.raises(UserError, match=r"`storage.memory` is 1.00 MB, but one resident partition"):
        resolved(dataset, load(sets=[*SETS, "storage.memory=1MB"]))


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        (["task=link_prediction"], "`task` is link_prediction: it trains classes of nodes alone"),
        (["model.encoder=none"], "`model.encoder` is none: choose sage"),
        (["model.inputs=both"], "`model.inputs` is both: only features"),
        (["sampling.scope=exact"], "`sampling.scope` is exact: a batch's nodes"),
        (["sampling.weighted=true"], "`sampling.weighted` is true: all neighbours"),
        (["sampling.lists=disk"], "`sampling.lists` is disk: lists come with"),
        (["sampling.refresh_epochs=2"], "`sampling.refresh_epochs` is 2: every epoch"),
        (["storage.ordering=node_classification"], "`storage.ordering` is node_classification"),
    ],
)
def test_what_cannot_be_trained_so_is_refused(sets, said):
    with pytest.raises(UserError, match=said):
        load(sets=[*SETS, *sets])
