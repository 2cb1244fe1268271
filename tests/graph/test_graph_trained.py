"""Nodes and relations of training edges are told from others, whatever the partitions."""

from collections import Counter

import numpy as np
import pytest

from marius_lite.graph.trained import trained_nodes, trained_relations
from marius_lite.preprocess import make_dataset


@pytest.mark.parametrize("partitions", [1, 5])
def test_what_training_edges_have(tmp_path, partitions):
    rng = np.random.default_rng(0)
    train, test = (np.stack([rng.integers(0, limit, 60) for limit in (60, 9, 60)], 1) for _ in range(2))
    train[:, 1] %= 6
    for name, edges in (("train", train), ("test", test)):
        np.savetxt(tmp_path / name, edges, "%d", delimiter="\t")
    dataset = make_dataset(
        tmp_path / "train", tmp_path / "d", test=tmp_path / "test", partitions=partitions, drop_duplicates=True
    )
    raw = dataset.raw_ids(0, dataset.manifest.nodes).to_pylist()
    ends, nodes = {*train[:, 0].tolist(), *train[:, 2].tolist()}, rng.permutation(len(raw))
    expected = [raw[node] in ends for node in nodes]
    assert trained_nodes(dataset, nodes).tolist() == expected
    assert 0 < sum(expected) < len(raw)
    assert trained_nodes(dataset, nodes[:0]).tolist() == []
    relations = set(train[:, 1].tolist())
    assert trained_relations(dataset).tolist() == [name in relations for name in dataset.relation_names()]
    found = Counter(r for edges in (train, test) for _, r, _ in {tuple(edge) for edge in edges.tolist()})
    assert dict(zip(dataset.relation_names(), dataset.relation_counts().tolist())) == found
