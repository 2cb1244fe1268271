"""Graphs for partitioners: one with communities, and odd ones."""

import json

import numpy as np

NODES, COMMUNITIES = 4_000, 40


def planted_graph(folder, rng, edges=30_000):
    size = NODES // COMMUNITIES
    src = rng.integers(NODES, size=edges)
    dst = np.where(rng.random(edges) < 0.9, src // size * size + rng.integers(size, size=edges), rng.integers(NODES, size=edges))
    names = rng.permutation(NODES)
    np.save(folder / "edges.npy", names[np.stack([src, dst], 1)])
    return folder / "edges.npy"


def report(folder):
    return json.loads((folder / "report.json").read_text())


def nodes_of(dataset):
    return dataset.raw_ids(0, dataset.manifest.nodes).to_pylist()


def graph_without_edges(rng):
    return np.array([[3, 3], [4, 4], [4, 4]])


def graph_of_self_loops_and_one_edge(rng):
    return np.concatenate([np.stack([np.arange(50), np.arange(50)], 1), [[1, 2]]])


def multigraph(rng):
    return np.repeat(rng.integers(20, size=(30, 2)), rng.integers(1, 40, 30), axis=0)


def hub(rng):
    edges = rng.integers(3_000, size=(9_000, 2))
    edges[::3, 0] = 5
    return edges


def star(rng):
    return np.stack([np.zeros(999, int), np.arange(1, 1000)], 1)


def path(rng):
    return np.stack([np.arange(999), np.arange(1, 1000)], 1)
