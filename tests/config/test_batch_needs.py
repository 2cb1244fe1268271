"""What batches take on a device grows with them, with and without an encoder."""

import pytest
from open_parts import ENCODER, LINKS

from marius_lite.config.load import load
from marius_lite.config.resolve import batch_needs
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.facts import facts_of
from marius_lite.tasks.resolved import resolved


def test_a_device_takes_more_for_larger_batches(surrounded):
    pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")
    dataset = Dataset.open(surrounded)

    def needs(*sets):
        config, _ = resolved(dataset, load(sets=[*LINKS, *sets]))
        found = batch_needs(config, facts_of(dataset, config, cuda=True), int(config.storage.capacity), cached=0)
        return sum(found.bytes.values()), found.rows, found.packet

    small, large = needs(), needs("training.batch_size=800")
    assert all(a < b for a, b in zip(small, large))
    encoder = [*ENCODER, "model.inputs=embeddings"]
    assert needs(*encoder)[0] < needs(*encoder, "training.batch_size=800")[0]
