"""What an encoder takes is told by purpose, grows with what a batch reaches, and never with more than is resident."""

from dataclasses import replace

import pytest
from test_resolve import facts

from marius_lite.config.encoder_memory import (
    MOST_SAMPLED,
    EncoderSizes,
    ResidentGraph,
    encoder_bytes,
    encoder_device_bytes,
    encoder_host_bytes_for_device,
    padded_sizes,
    reached,
    resident,
)
from marius_lite.config.facts import NodeFacts
from marius_lite.config.link_planning import link_sizes
from marius_lite.config.load import load
from marius_lite.config.memory import RING, device_bytes
from marius_lite.config.node_planning import node_sizes
from marius_lite.config.resolve import device_needs, resolve
from marius_lite.errors import UserError

NODES = [
    "task=node_classification",
    "model.encoder=sage",
    "model.layers=[32]",
    "sampling.fanouts=[4,2]",
    "model.dim=16",
    "training.batch_size=10",
]
LINKS = ["model.encoder=sage", "sampling.fanouts=[4]", "training.batch_size=100", "negatives.chunks=2", "negatives.count=50"]
TO_CLASSIFY = NodeFacts(classes=7, training=500, training_partitions=1)
WITH_NODES = replace(facts(), nodes_to_classify=TO_CLASSIFY, features=208, feature_width=100, stride=80, lists=10**6)
EVERYTHING = ResidentGraph(10**6, 10**9, 3)


def test_what_a_batch_reaches():
    config = load(sets=NODES)
    assert reached(config, 10, EVERYTHING) == ([10, 50, 150], [10 * 4, 50 * 2])
    assert reached(config, 10, replace(EVERYTHING, nodes=60)) == ([10, 50, 60], [40, 100])
    assert reached(config, 10, replace(EVERYTHING, edges=70)) == ([10, 50, 150], [40, 70])
    by_relation = load(sets=[*NODES, "sampling.fanouts=[{a: 1, default: 2}, 2]"])
    assert reached(by_relation, 10, EVERYTHING) == ([10, 60, 180], [10 * 5, 60 * 2])


@pytest.mark.parametrize(
    ("inputs", "width", "stride", "tables"), [("features", 100, 208, 1), ("embeddings", 16, 80, 1), ("both", 116, 288, 2)]
)
def test_sizes_of_nodes(inputs, width, stride, tables):
    found = node_sizes(load(sets=[*NODES, f"model.inputs={inputs}"]), WITH_NODES, TO_CLASSIFY, 5)
    assert found == EncoderSizes(10, ResidentGraph(5000, 5 * 10**6 // 4, 3, ranges=5), width, 7, stride, tables)


def test_purposes_on_the_device():
    config, sizes = load(sets=NODES), EncoderSizes(10, EVERYTHING, 100, 7, 208)
    nodes = encoder_device_bytes(config, sizes, 999)
    assert set(nodes) == {"batches", "tensors", "held", "sampling"}
    assert nodes["held"] == 999
    assert nodes["batches"] >= RING * 150 * 208
    assert nodes["tensors"] >= encoder_bytes(config, sizes, learned=False)
    wider = encoder_device_bytes(config, replace(sizes, stride=416), 0)
    padded = padded_sizes(*reached(config, 10, EVERYTHING))[0][-1]
    assert wider["batches"] - nodes["batches"] == RING * padded * 208
    config = load(sets=LINKS)
    links = encoder_device_bytes(config, EncoderSizes(400, EVERYTHING, 100, 100, 416), 5)
    assert set(links) == {"batches", "tensors", "scores", "held", "sampling"}
    for sets in (["sampling.device=cpu"], ["sampling.weighted=true"]):
        assert "sampling" not in encoder_device_bytes(load(sets=[*NODES, *sets]), sizes, 0)
    assert links["scores"] == device_bytes(config, 0, 0, 150, 1)["scores"]
    assert links["batches"] >= RING * 5 * 400 * 416


@pytest.mark.parametrize(("more", "copies"), [([], 1), (["model.dropout=0.5"], 3), (["model.normalize_features=true"], 2)])
def test_a_wide_batch_is_planned_by_the_nodes_there_are(more, copies):
    """Each set of numbers of all nodes once, and of the first layer's targets thrice, beside little else."""
    everything, few = 4714 * 22_000 * 4, ResidentGraph(4714, 10**5, 1)
    config = load(sets=[*NODES, "model.layers=[32]", "training.batch_size=10000", *more])
    planned = encoder_bytes(config, EncoderSizes(10_000, few, 22_000, 7, 88_000), learned=False)
    assert (copies + 3) * everything < planned < (copies + 3.1) * everything
    config = load(sets=[*NODES, "training.batch_size=10", *more])  # 50 targets of 150 nodes
    planned = encoder_bytes(config, EncoderSizes(10, few, 22_000, 7, 88_000), learned=False)
    assert planned == pytest.approx(22_000 * 4 * (150 * copies + 50 * 3), rel=0.05)


@pytest.mark.parametrize(("sets", "known"), [(NODES, WITH_NODES), (LINKS, replace(facts(), lists=1000))])
def test_the_plan_counts_what_the_host_keeps_for_the_device(sets, known):
    on_cpu, cpu = resolve(load(sets=[*sets, "device=cpu"]), known)
    config, memory = resolve(load(sets=[*sets, "device=cuda"]), known)
    capacity, on_nodes = int(config.storage.capacity), known.nodes_to_classify
    sizes = node_sizes(config, known, on_nodes, capacity) if on_nodes else link_sizes(config, known, capacity)
    assert memory.workspace == encoder_host_bytes_for_device(config, sizes) != cpu.workspace
    needed = device_needs(config, known, capacity, memory)
    assert needed == encoder_device_bytes(config, sizes, 0)
    assert device_needs(on_cpu, known, 2, cpu) == {}
    with pytest.raises(UserError, match=r"the device needs .*batches .*tensors .*sampling.fanouts"):
        resolve(load(sets=[*sets, "device=cuda", f"storage.device_memory={sum(needed.values()) - 1}"]), known)
    resolve(load(sets=[*sets, "device=cuda", f"storage.device_memory={sum(needed.values())}"]), known)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("sets", [NODES, LINKS])
def test_edges_chosen_by_keys_take_a_place_more(sets, device):
    known = WITH_NODES if sets == NODES else replace(facts(), lists=10**6)
    asked = [*sets, f"device={device}", "storage.capacity=4"]
    config, memory = resolve(load(sets=asked), known)
    _, edges = reached(config, 10 if sets == NODES else 500, resident(known, 4))
    _, weighted = resolve(load(sets=[*asked, "sampling.weighted=true"]), known)
    several = MOST_SAMPLED if device == "cuda" else 1
    assert weighted.workspace - memory.workspace == several * 8 * sum(edges) > 0
