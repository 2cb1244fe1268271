"""A dataset with other features and without edges."""

import numpy as np

from marius_lite.config.load import load
from marius_lite.evaluate.layer_rows import RowsOnDisk
from marius_lite.graph import Dataset
from marius_lite.graph.facts import facts_of
from marius_lite.graph.gathered import GatheredDataset


def test_it_has_other_features_no_edges_and_the_same_labels(communities, tmp_path):
    dataset, rng = Dataset.open(communities), np.random.default_rng(0)
    p = dataset.partitioning
    rows, table = rng.normal(size=(p.nodes, 6)).astype(np.float32), RowsOnDisk(tmp_path / "rows", p, 6)
    for k in range(p.partitions):
        with table.writing(k) as write:
            write(rows[p.range(k).start : p.range(k).stop])
    seen = GatheredDataset(dataset, table.table(), 6)
    for k in range(p.partitions):
        assert np.array_equal(seen.features.values(k), rows[p.range(k).start : p.range(k).stop])
        lists = seen.adjacency.read(k)
        assert lists.indptr.tolist() == [0] * (p.size(k) + 1)
        assert len(lists.sources) == 0
        assert lists.rel is None
    assert np.array_equal(seen.node_split("train"), dataset.node_split("train"))
    facts = facts_of(seen, load(sets=["task=node_classification", "model.encoder=gcn"]), cuda=False)
    assert (facts.features, facts.feature_width) == (32, 6)
    assert facts.all_lists == 12 * (p.nodes + p.partitions)
