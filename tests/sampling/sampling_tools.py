"""Shared by the tests of neighbour sampling: small multigraphs as in-edge lists, and a sampler plain enough to be believed."""

from itertools import accumulate

import numpy as np

from marius_lite import _native


def in_lists(nodes, rows, edges):
    """Per partition (indptr, sources, rel) of (src, dst, rel) edges, sources ascending."""
    lists = []
    for low in range(0, nodes, rows):
        high = min(low + rows, nodes)
        mine = sorted((dst, src, rel) for src, dst, rel in edges if low <= dst < high)
        counts = np.bincount([dst - low for dst, _, _ in mine], minlength=high - low)
        columns = np.array(mine, np.uint32).reshape(-1, 3)
        lists.append((np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), columns[:, 1].copy(), columns[:, 2].copy()))
    return lists


def make_sampler(nodes, rows, lists, base_rows, relations=True, wide=False):
    """A sampler with the partitions of ``base_rows`` ({k: first row}) entered."""
    sampler = (_native.WideNeighbourSampler if wide else _native.NeighbourSampler)(rows, nodes)
    for k, base in base_rows.items():
        indptr, sources, rel = lists[k]
        sampler.enter(k, base, indptr, sources.astype(np.uint64 if wide else np.uint32), rel if relations else None)
    return sampler


def naive_sample(rows, edges, base_rows, seeds, fanouts, seed, exclude=(), both=False):
    """What `sample` should return, edge by edge, from the same draws."""
    exclude = {*exclude, *((b, a) for a, b in exclude if both)}
    nodes, local = list(seeds), {node: i for i, node in enumerate(seeds)}
    hop_nodes, hop_edges, degrees, indices, rels, first = [len(seeds)], [], [], [], [], 0
    neighbours = missing = 0
    for hop, fanout in enumerate(fanouts):
        last, edges_before = len(nodes), len(indices)
        for node in nodes[first:last]:
            all_of_it = sorted((src, rel) for src, dst, rel in edges if dst == node)
            resident = [(src, rel) for src, rel in all_of_it if src // rows in base_rows]
            candidates = [(src, rel) for src, rel in resident if (src, node) not in exclude]
            neighbours += len(all_of_it)
            missing += len(all_of_it) - len(resident)
            if 0 <= fanout < len(candidates):
                candidates = [candidates[x] for x in _native.neighbour_draws(seed, hop, node, len(candidates), fanout)]
            degrees.append(len(candidates))
            for src, rel in candidates:
                if src not in local:
                    local[src] = len(nodes)
                    nodes.append(src)
                indices.append(local[src])
                rels.append(rel)
        hop_nodes.append(len(nodes) - last)
        hop_edges.append(len(indices) - edges_before)
        first = last
    return {"nodes": nodes, "rows": [base_rows[node // rows] + node % rows for node in nodes], "hop_nodes": hop_nodes,
            "indptr": [0, *accumulate(degrees)], "indices": indices, "rel": rels, "hop_edges": hop_edges,
            "neighbours": neighbours, "missing": missing}
