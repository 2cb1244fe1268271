"""Which layer is trained when, what its configuration is, and which settings layers cannot be trained with."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.config.layerwise import GATHERED, first_epoch, gathered_bytes, layer_epochs, layer_of, layers, of_layer
from marius_lite.config.load import load
from marius_lite.errors import UserError
from marius_lite.nn.encoders import ENCODERS

SETS = ["task=node_classification", "model.encoder=gcn", "training.method=layerwise"]


@given(st.integers(1, 4), st.integers(0, 40), st.none() | st.integers(1, 10))
def test_each_layer_has_its_epochs(count, more, each):
    epochs = (each or 1) * count + more
    asked = [] if each is None else [f"training.layer_epochs={each}"]
    config = load(sets=[*SETS, f"model.layers={[8] * (count - 1)}", f"training.epochs={epochs}", *asked])
    trained = [layer_of(config, epoch) for epoch in range(epochs)]
    assert trained == sorted(trained)
    assert set(trained) == set(range(count))
    for layer in range(count):
        assert trained.index(layer) == first_epoch(config, layer)
        alone, last = of_layer(config, layer), layer == count - 1
        assert alone.training.epochs == (epochs if last else first_epoch(config, layer + 1))
        assert trained.count(layer) == layer_epochs(config) or (last and trained.count(layer) > layer_epochs(config))


@pytest.mark.parametrize(("encoder", "numbers"), [("sgc", 8 + 8), ("sign", (3 + 4) * 8)])
def test_hops_are_one_layer_and_their_disk_is_counted(encoder, numbers):
    config = load(sets=[*SETS, f"model.encoder={encoder}", "model.hops=3", "model.layers=[16, 4]", "training.epochs=9"])
    assert layers(config) == 1
    assert layer_epochs(config) == 9
    assert {layer_of(config, epoch) for epoch in range(9)} == {0}
    assert gathered_bytes(config, 8) == 4 * numbers


def test_those_gather_that_say_so():
    assert {name: encoder.gathers for name, encoder in ENCODERS.items() if encoder.gathers} == GATHERED


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        (["model.encoder=gat"], "`model.encoder` is gat: choose gcn, sage, sgc or sign"),
        (["task=link_prediction"], "`task` is link_prediction"),
        (["model.residual=true"], "`model.residual` is true"),
        (["model.inputs=both"], "`model.inputs` is both"),
        (["sampling.weighted=true"], "`sampling.weighted` is true"),
        (["sampling.lists=disk"], "`sampling.lists` is disk: nothing is sampled"),
        (["sampling.refresh_epochs=2"], "`sampling.refresh_epochs` is 2"),
        (["model.layers=[8,8]", "training.epochs=2"], "3 layers need 3 epochs at least"),
        (["model.layers=[8]", "training.epochs=9", "training.layer_epochs=9"], "`training.layer_epochs` 9: 2 layers"),
        (["model.hops=3"], "`model.hops` is 3, but `model.encoder` is gcn: only sgc and sign"),
        (["model.encoder=sgc", "training.method=sampled"], "`model.encoder` is sgc, but .* set it to layerwise"),
        (["model.encoder=sign", "training.method=cluster"], "`model.encoder` is sign, but .* set it to layerwise"),
        (["training.method=sampled", "training.layer_epochs=9"], "`training.method` is sampled: remove it"),
    ],
)
def test_what_cannot_be_trained_so_is_refused(sets, said):
    with pytest.raises(UserError, match=said):
        load(sets=[*SETS, *sets])
