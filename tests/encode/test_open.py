"""A configuration's representation: rows themselves, or an encoder's vectors; a batch needs more of a device with the latter."""

import pytest
from open_parts import ENCODER, LINKS, open_parts

from marius_lite.config.load import load
from marius_lite.config.resolve import batch_needs
from marius_lite.encode.open import represent
from marius_lite.encode.representation import Encoded, RowsThemselves
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.facts import facts_of
from marius_lite.tasks.resolved import resolved


def test_without_an_encoder_rows_are_vectors(surrounded):
    with open_parts(surrounded, *LINKS) as parts:
        made = represent(parts.work.rows, None, Dataset.open(surrounded), parts.config, None, 0.0)
        assert isinstance(made, RowsThemselves)
        assert made.rows is parts.work.rows


def test_with_one_they_are_what_it_makes_of_neighbourhoods(surrounded):
    pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")
    with open_parts(surrounded, *LINKS, *ENCODER, "model.inputs=embeddings") as parts:
        made = represent(parts.work.rows, None, Dataset.open(surrounded), parts.config, parts.model.encoder, 0.0)
        assert isinstance(made, Encoded)
        made.close()


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
