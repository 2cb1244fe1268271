"""How strong the regularizer is, by how dense a graph is."""

import pytest
from test_resolve import facts

from marius_lite.config.load import load
from marius_lite.config.resolve import resolve

AUTO = ["regularizer.name=n3", "regularizer.weight=auto"]


@pytest.mark.parametrize(
    ("sets", "edges_a_node", "weight"),
    [
        (AUTO, 4.9, 0.1),
        (AUTO, 5.1, 0.05),
        (["regularizer.name=n3", "regularizer.weight=0.3"], 4.9, 0.3),
        (["regularizer.weight=auto"], 4.9, 0.0),
        ([], 4.9, 0.0),
    ],
)
def test_it_follows_from_the_edges_of_a_node_where_it_is_auto(sets, edges_a_node, weight):
    config, _ = resolve(load(sets=sets), facts(partitions=2, rows=1000, edges_per_bucket=int(edges_a_node * 500)))
    assert config.regularizer.weight == weight
