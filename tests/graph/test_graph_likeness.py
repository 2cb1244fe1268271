"""How much more often linked nodes are of one class than chance has it, by the edges between training nodes alone."""

import numpy as np
import pytest

from marius_lite.graph import likeness as module
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.defaults import config_for
from marius_lite.graph.likeness import likeness

NODES, CLASSES, EDGES = 400, 4, 3000


def made(cli, folder, step, trained=200, several=False, partitions=4):
    """Nodes whose class is their id modulo 4. ``step``: how much further the class at an edge's other end is; None: any. The
    nodes to validate on are too few to try linear models."""
    rng = np.random.default_rng(1)
    src, any_node = rng.integers(NODES, size=(2, EDGES))
    dst = any_node if step is None else any_node - any_node % CLASSES + (src + step) % CLASSES
    y = np.arange(NODES) % CLASSES
    np.save(folder / "edges.npy", np.stack([src, dst], 1))
    np.save(folder / "x.npy", rng.normal(size=(NODES, 4)).astype(np.float32))
    np.save(folder / "y.npy", np.eye(CLASSES, dtype=np.int8)[y] if several else y)
    order = rng.permutation(NODES)
    np.save(folder / "train.npy", order[:trained])
    np.save(folder / "valid.npy", order[trained : trained + 10])
    nodes = [f"--{name}-nodes={folder / name}.npy" for name in ("train", "valid")]
    tables = [f"--features={folder / 'x.npy'}", f"--labels={folder / 'y.npy'}"]
    where = ["--output", folder / "data", "--partitions", str(partitions)]
    assert cli("preprocess", folder / "edges.npy", *where, *tables, *nodes) == 0
    return Dataset.open(folder / "data"), src, dst, order[:trained], y


@pytest.mark.parametrize("step", [0, 1, None])
@pytest.mark.parametrize("piece", [200, 1 << 20])
def test_it_is_the_share_among_training_nodes_beyond_chance(cli, tmp_path, monkeypatch, step, piece):
    dataset, src, dst, trained, y = made(cli, tmp_path, step)
    kept = np.isin(src, trained) & np.isin(dst, trained) & (src != dst)
    ends = np.bincount(np.concatenate([y[src[kept]], y[dst[kept]]])) / (2 * kept.sum())
    chance = np.square(ends).sum()
    expected = ((y[src] == y[dst])[kept].mean() - chance) / (1 - chance)
    if piece == 200:
        monkeypatch.setattr(module, "EDGES_READ", piece)
        assert likeness(dataset) == pytest.approx(expected, abs=0.15)  # of some of the edges
    else:
        assert likeness(dataset) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("more", [{"several": True}, {"trained": 20}], ids=["several classes", "few training nodes"])
def test_it_is_unknown(cli, tmp_path, more):
    assert likeness(made(cli, tmp_path, 0, **more)[0]) is None


@pytest.mark.parametrize(("step", "encoder"), [(0, "gcn"), (1, "sage"), (None, "sage")])
def test_a_network_that_tells_a_node_from_its_neighbours_is_chosen_where_they_are_unlike(cli, tmp_path, step, encoder):
    assert config_for(made(cli, tmp_path, step)[0], None).model.encoder == encoder
