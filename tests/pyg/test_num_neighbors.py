"""Numbers of neighbours are by hop, or by hop and edge type."""

import numpy as np
import pytest
from typed_graph import EDGE_TYPES

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric", reason="the loaders need the extra `gnn`")

from marius_lite.errors import UserError  # noqa: E402
from marius_lite.graph import Dataset  # noqa: E402
from marius_lite.pyg.num_neighbors import COUNTED_OF_ALL, fanouts_of, reached  # noqa: E402
from marius_lite.pyg.typed_edges import TypedEdges  # noqa: E402


@pytest.fixture(scope="module")
def edges(typed):
    return TypedEdges(Dataset.open(typed["dataset"]))


def test_numbers_are_in_the_order_of_edge_types(edges):
    asked = {edge_type: [k, 10 - k, -1] for k, edge_type in enumerate(EDGE_TYPES)}
    found = fanouts_of(asked, edges)
    assert [dict(zip(edges.edge_types, hop.tolist())) for hop in found] == [
        {edge_type: asked[edge_type][hop] for edge_type in EDGE_TYPES} for hop in range(3)
    ]
    assert [hop.tolist() for hop in fanouts_of([4, -1], edges)] == [[4] * 5, [-1] * 5]
    assert fanouts_of(np.array([4, 0]), None) == [4, 0]


def test_a_node_draws_of_the_edge_types_that_lead_to_its_type(edges):
    asked = {edge_type: [2, -1] for edge_type in EDGE_TYPES}  # three of them lead to papers
    drawn = 10 * 3 * 2
    assert reached(fanouts_of(asked, edges), edges, 10, 1000) == (1000, drawn + (10 + drawn) * 3 * COUNTED_OF_ALL)
    assert reached([2, -1], None, 10, 50) == (50, 20 + 30 * COUNTED_OF_ALL)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({("venue", "near", "paper"): None}, r"edge type \('venue', 'near', 'paper'\) is missing"),
        (
            {("paper", "made", "venue"): [2, 2]},
            r"no edge type \('paper', 'made', 'venue'\) in .*: it has \('author', 'made', 'paper'\)",
        ),
        ({"near": [2, 2]}, "no edge type 'near'"),
        ({("paper", "near", "venue"): [2]}, r"2 hops for \('author', 'made', 'paper'\), 1 for \('paper', 'near', 'venue'\)"),
        ({("paper", "near", "venue"): [2, -3]}, r"num_neighbors\[\('paper', 'near', 'venue'\)\]: \[2, -3\]: give a number"),
        ({("paper", "near", "venue"): 2}, r"num_neighbors\[.*\]: 2: give a number for each hop"),
        ({("paper", "near", "venue"): []}, "give a number for each hop"),
    ],
)
def test_what_cannot_be_is_refused(edges, change, said):
    asked = {**{edge_type: [3, 2] for edge_type in EDGE_TYPES}, **change}
    with pytest.raises(UserError, match=said) as raised:
        fanouts_of({edge_type: hops for edge_type, hops in asked.items() if hops is not None}, edges)
    assert "\n" not in str(raised.value)
