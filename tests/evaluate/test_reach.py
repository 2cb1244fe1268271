"""Vectors of some nodes are those that they have among all, and what these do not need is not worked out."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_inference import IN, LARGE, RELATIONS, TIGHT, WIDTHS, Features, Lists, all_rows, nothing_resident, set_up

from marius_lite.evaluate import reach
from marius_lite.evaluate.inference import Inference
from marius_lite.evaluate.reach import reaches
from marius_lite.graph.partitioning import Partitioning
from marius_lite.nn.encoders import ENCODERS, EncoderShape, make_encoder
from marius_lite.nn.encoders.sage import Sage
from marius_lite.sampling.neighbours import true_degrees

pytest.importorskip("torch_geometric")


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 60), st.integers(0, 150), st.integers(1, 5), st.integers(1, 3))
def test_reaches_are_what_edges_lead_to(seed, nodes, edges, partitions, layers):
    graph, partitioning, _ = set_up(seed, nodes, edges, partitions)
    rng = np.random.default_rng(seed)
    wanted = np.sort(rng.permutation(nodes)[: rng.integers(1, 4)])
    found = reaches(Lists(graph, partitioning), partitioning, wanted, layers, LARGE)
    assert len(found) == layers + 1
    reached, pairs = set(wanted.tolist()), list(zip(*(each.tolist() for each in graph.edges)))
    for each in reversed(found):
        if each.ids is None:
            assert len(reached) > nodes / 2
            assert each.places is partitioning
        else:
            assert each.ids.tolist() == sorted(reached)
            assert [k * partitioning.rows + at for k in range(partitioning.partitions) for at in each.offsets(k)] == sorted(
                reached
            )
            if each.edges is not None:
                assert sum(each.edges) == sum(target in reached for _, target in pairs)
        reached |= {source for source, target in pairs if target in reached}


def test_all_nodes_are_looked_at_where_memory_has_no_room_for_marks(tmp_path):
    graph, partitioning, _ = set_up(0, 400, 300, 2)
    lists, few = Lists(graph, partitioning), np.array([3])
    assert reaches(lists, partitioning, few, 1, 32 * 400)[-1].ids is not None
    assert [each.ids for each in reaches(lists, partitioning, few, 1, 32 * 400 - 1)] == [None, None]
    assert [each.ids for each in reaches(lists, partitioning, few[:0], 1, LARGE)] == [None, None]


@pytest.mark.parametrize("name", [*ENCODERS, "gcn by rows", *(f"{name} by ends" for name in ENCODERS)])
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, 10_000),
    st.integers(1, 60),
    st.integers(0, 150),
    st.integers(1, 5),
    st.booleans(),
    st.sampled_from([0.0, 0.7, 1.0]),
    st.booleans(),
)
def test_some_nodes_have_the_vectors_that_they_have_among_all(
    tmp_path_factory, name, seed, nodes, edges, partitions, tight, most, weighs
):
    """Whatever share of the nodes is reached, from which on all are looked at."""
    name, _, by = name.partition(" by ")
    graph, partitioning, x = set_up(seed, nodes, edges, partitions, weighs=weighs and name != "rgcn" and by != "ends")
    torch.manual_seed(seed)
    seen = {"rows": {"gcn_norm": "row", "diagonal": 0.5}, "ends": {"degree_unit": 3.0, "degrees_apart": True}}.get(by, {})
    encoder = make_encoder(name, EncoderShape(IN, WIDTHS, residual=True, heads=2, relations=RELATIONS, **seen))
    lists = Lists(graph, partitioning, by == "ends")
    degrees = true_degrees(lists, partitioning) if encoder.degrees else None
    rng, folder = np.random.default_rng(seed), tmp_path_factory.mktemp("inference")
    wanted = np.sort(rng.permutation(nodes)[: rng.integers(1, 4)])
    given = (encoder, Features(x, partitioning), lists, partitioning)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reach, "MOST", most)
        patch.setattr(reach, "MEMORY_SHARE", 1)
        if tight:
            nothing_resident(patch)
        every = all_rows(Inference(*given, degrees).of_all(TIGHT[name] if tight else LARGE, folder / "all"))
        some = Inference(*given, degrees).of_some(wanted, (TIGHT[name] if tight else LARGE) + 10_000, folder / "some")
    for k in range(partitioning.partitions):
        ids = partitioning.range(k)
        own = wanted[(wanted >= ids.start) & (wanted < ids.stop)]
        found = some.read_rows(k, own - ids.start, slice(1, 5))
        np.testing.assert_allclose(found, every[own, 1:5], rtol=1e-5, atol=1e-5)


def test_what_is_not_reached_is_not_worked_out(tmp_path, monkeypatch):
    """A path of nodes: each takes from the one before."""
    nodes = 400
    graph = SimpleNamespace(
        indptr=np.concatenate([[0], np.arange(nodes)]),
        edges=(np.arange(nodes - 1), np.arange(1, nodes)),
        rel=np.zeros(nodes - 1, np.int64),
        factors=None,
        nodes=nodes,
    )
    partitioning, x = Partitioning(nodes, 4), np.random.default_rng(0).normal(size=(nodes, IN)).astype(np.float32)
    encoder, targets, combined = make_encoder("sage", EncoderShape(IN, WIDTHS)), [], Sage.combined

    def counted(self, layer, sums, rows):
        targets.append(len(sums))
        return combined(self, layer, sums, rows)

    monkeypatch.setattr(Sage, "combined", counted)
    inference = Inference(encoder, Features(x, partitioning), Lists(graph, partitioning), partitioning)
    some = inference.of_some(np.array([7, 350]), LARGE, tmp_path / "some")
    assert targets == [3, 3, 2, 2, 1, 1]  # of two partitions in each layer
    np.testing.assert_allclose(
        some.read_rows(3, np.array([50]), slice(0, 6)),
        all_rows(inference.of_all(LARGE, tmp_path / "all"))[[350], :6],
        rtol=1e-5,
        atol=1e-6,
    )
