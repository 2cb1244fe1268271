"""Models of PyTorch Geometric learn as much from our loaders as from batches in memory: the loader is all that differs."""

import importlib.util
import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric", reason="the loaders need the extra `gnn`")

from torch_geometric.nn import GAT, GraphSAGE  # noqa: E402

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts" / "bench")
    spec = importlib.util.spec_from_file_location("pyg_models", ROOT / "scripts" / "bench" / "pyg_models.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "pyg_models", module)  # where its dataclasses look for their types
    spec.loader.exec_module(module)
    return module


def accuracies(bench, graph, recipe, folder, seed=0):
    """Of all neighbours in memory, and of ours, whose batches are checked against the source."""
    dataset = bench.dataset_of(graph, folder)
    in_memory = bench.AllNeighbours(graph.data, len(recipe.fanouts), graph.train, recipe.batch_size)
    with bench.ours(dataset, graph, recipe, Namespace(memory="1GB", threads=1, work=folder), seed) as loader:
        return bench.trained(graph, recipe, in_memory, seed, False), bench.trained(graph, recipe, loader, seed, True)


def one_relation(bench):
    """The graph without the edges that lead to other classes, or anywhere."""
    graph = bench.GRAPHS["relations"](Path(), 900)
    graph.data.edge_index = graph.data.edge_index[:, graph.data.edge_type == 0]
    del graph.data.edge_type
    return replace(graph, relations=1)


@pytest.mark.parametrize("name", ["sage", "gat", "rgcn"])
@pytest.mark.parametrize("fanouts", [(-1, -1), (6, 6)])
def test_the_same_accuracy(bench, tmp_path, name, fanouts):
    rgcn = bench.RECIPES["rgcn"]
    models = {"sage": lambda g: GraphSAGE(16, 16, 2, 4), "gat": lambda g: GAT(16, 16, 2, 4, heads=2), "rgcn": rgcn.model}
    graph = bench.GRAPHS["relations"](Path(), 900) if name == "rgcn" else one_relation(bench)
    recipe = replace(rgcn, model=models[name], fanouts=fanouts, batch_size=60, epochs=12, lr=0.02)
    theirs, ours = accuracies(bench, graph, recipe, tmp_path)
    assert theirs > 0.8  # a quarter by chance
    assert abs(ours - theirs) < 0.05


def test_links_are_told_from_random_pairs(bench, tmp_path):
    graph = bench.without_links(one_relation(bench))
    recipe = replace(bench.RECIPES["link"], fanouts=(6, 6), epochs=6, lr=0.01)
    dataset = bench.dataset_of(graph, tmp_path)
    with bench.ours(dataset, graph, recipe, Namespace(memory="1GB", threads=1, work=tmp_path), 0) as loader:
        found = bench.trained(graph, recipe, loader, 0, True)
    assert found > 0.7  # 0.5 by chance; a quarter of the random pairs lie in one class, as links do


@pytest.mark.skipif(not (DATA / "cora").is_dir(), reason="shared/data/cora is not there")
def test_cora(bench, tmp_path):
    recipe = replace(bench.RECIPES["sage"], fanouts=(-1, -1), batch_size=70, epochs=25, lr=0.01)
    theirs, ours = accuracies(bench, bench.GRAPHS["cora"](DATA), recipe, tmp_path)
    assert theirs > 0.74
    assert abs(ours - theirs) < 0.03
