"""Fanouts by the names of relations become fanouts by their ids, or are refused with the names there are."""

import numpy as np
import pytest

from marius_lite.config.load import load
from marius_lite.errors import UserError
from marius_lite.graph.fanouts import hop_fanouts
from marius_lite.preprocess import make_dataset


def asked(fanouts):
    return load(
        sets=[
            "model.encoder=sage",
            f"model.layers={[8] * (fanouts.count(';'))}",
            f"sampling.fanouts=[{fanouts.replace(';', ',')}]",
        ]
    )


@pytest.fixture(scope="module")
def numbered(tmp_path_factory):
    """A dataset of 12 relations whose names are the numbers 3, 6, 9, ..."""
    folder = tmp_path_factory.mktemp("numbered")
    edges = np.stack([np.arange(120), np.arange(120) % 12 * 3 + 3, np.arange(120) // 2], 1)
    np.save(folder / "e.npy", edges)
    return make_dataset(folder / "e.npy", folder / "d")


def test_names_become_ids(dataset, numbered):
    names = dataset.relation_names()
    first, second, third = hop_fanouts(asked("4; {r2: 7, default: 1}; {r0: -1}"), dataset)
    assert first == 4
    assert (second.dtype, second.tolist()) == (np.int64, [7 if name == "r2" else 1 for name in names])
    assert third.tolist() == [-1 if name == "r0" else 0 for name in names]
    found = hop_fanouts(asked("{9: 2}"), numbered)[0]
    assert found.tolist() == [2 if name == 9 else 0 for name in numbered.relation_names()]


def test_auto_is_numbers(dataset):
    assert hop_fanouts(load(sets=["model.encoder=sage", "model.layers=[8]"]), dataset) == (15, 10)


def test_one_relation_needs_no_names(tmp_path):
    np.save(tmp_path / "e.npy", np.zeros((3, 2), int))
    plain = make_dataset(tmp_path / "e.npy", tmp_path / "d")
    assert hop_fanouts(asked("{default: 3}; 2"), plain) == (3, 2)


def test_unknown_names_are_refused(dataset, numbered):
    with pytest.raises(UserError, match=r"names relation 'r22', .* did you mean 'r2'\? it has 'r\d', 'r\d', 'r\d', 'r\d'$"):
        hop_fanouts(asked("{r2: 1, r22: 1}"), dataset)
    with pytest.raises(UserError, match=r"names relation 'x', .* does not have: it has ('\d+', ){9}'\d+' and 2 more$"):
        hop_fanouts(asked("{x: 1}"), numbered)
