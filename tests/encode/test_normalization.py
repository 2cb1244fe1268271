"""What an encoder gets of features is what the configuration asks for, and the same whenever a run is opened."""

import pytest
import torch
from open_parts import ENCODER, LINKS

from marius_lite.config.load import load
from marius_lite.encode.normalization import normalization
from marius_lite.graph.dataset import Dataset
from marius_lite.nn.inputs import as_they_are

LAYERS = ["model.layers=[6]", "sampling.fanouts=[4,4]"]


def opened(dataset, *more):
    return normalization(dataset, load(sets=[*LINKS, *ENCODER, *LAYERS, *more]))


@pytest.mark.parametrize(("inputs", "columns"), [("features", 8), ("both", 8), ("embeddings", 0)])
def test_features_are_normalized_and_nothing_else(featured, inputs, columns):
    dataset = Dataset.open(featured)
    x = torch.cat([torch.from_numpy(dataset.features.values(k)) for k in range(dataset.partitioning.partitions)])
    x = torch.cat([x, torch.ones(len(x), 3)], 1)
    assert opened(dataset, f"model.inputs={inputs}") is as_they_are
    if not columns:
        assert opened(dataset, f"model.inputs={inputs}", "model.normalize_features=true") is as_they_are
        return
    by_rows = opened(dataset, f"model.inputs={inputs}", "model.normalize_features=true")(x)
    torch.testing.assert_close(by_rows[:, :8].abs().sum(1), torch.ones(len(x)))
    by_columns, again = (opened(dataset, f"model.inputs={inputs}", "model.normalize_features=columns")(x) for _ in range(2))
    torch.testing.assert_close(by_columns[:, :8].mean(0), torch.zeros(8), atol=1e-4, rtol=0)
    torch.testing.assert_close(by_columns[:, :8].std(0, correction=0), torch.ones(8), atol=1e-4, rtol=0)
    assert torch.equal(by_columns, again)
    assert torch.equal(by_columns[:, 8:], x[:, 8:])


@pytest.mark.parametrize("normalized", ["false", "true", "columns", "logs"])
def test_codes_stand_beside_normalized_features(featured, normalized):
    dataset = Dataset.open(featured)
    x = torch.cat([torch.from_numpy(dataset.features.values(0)), torch.ones(dataset.partitioning.size(0), 3)], 1)
    x[:, 5] = x[:, 5].round()
    sets = ["model.inputs=both", f"model.normalize_features={normalized}"]
    plain, found = opened(dataset, *sets)(x), opened(dataset, *sets, "model.codes={5: [-1, 1]}")(x)
    assert torch.equal(found[:, :8], plain[:, :8])
    assert torch.equal(found[:, 8:10], (x[:, 5, None] == torch.tensor([-1.0, 1.0])).float())
    assert torch.equal(found[:, 10:], plain[:, 8:])
