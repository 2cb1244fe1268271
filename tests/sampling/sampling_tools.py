"""Shared by the tests of neighbour sampling: small multigraphs as in-edge lists, and a sampler plain enough to be believed."""

from itertools import accumulate

import numpy as np

from marius_lite import _native


def in_lists(nodes, rows, edges):
    """Per partition (indptr, sources, rel[, weights]) of (src, dst, rel[, weight]) edges, sources ascending."""
    lists = []
    for low in range(0, nodes, rows):
        high = min(low + rows, nodes)
        mine = sorted((dst, src, *rest) for src, dst, *rest in edges if low <= dst < high)
        counts = np.bincount([dst - low for dst, *_ in mine], minlength=high - low)
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        dtypes = [np.uint32, np.uint32, np.float32][: len(edges[0]) - 1 if edges else 2]
        lists.append((indptr, *(np.array([edge[1 + x] for edge in mine], dtype) for x, dtype in enumerate(dtypes))))
    return lists


def make_sampler(nodes, rows, lists, base_rows, relations=True, wide=False):
    """A sampler with the partitions of ``base_rows`` ({k: first row}) entered."""
    sampler = (_native.WideNeighbourSampler if wide else _native.NeighbourSampler)(rows, nodes)
    for k, base in base_rows.items():
        indptr, sources, rel, *weights = lists[k]
        sampler.enter(k, base, indptr, sources.astype(np.uint64 if wide else np.uint32), rel if relations else None, *weights)
    return sampler


def naive_draw(incoming, candidates, fanout, place, weighted):
    """Which ``candidates`` a node draws, numbers among its ``incoming`` edges (src, rel, ...); ``place``: (seed, hop, node)."""
    if np.ndim(fanout) == 0 and (not weighted or fanout < 0):
        if not 0 <= fanout < len(candidates):
            return candidates
        return [candidates[x] for x in _native.neighbour_draws(*place, len(candidates), fanout)]
    weights = np.array([edge[2] for edge in incoming], np.float32) if weighted else None
    keys = _native.neighbour_keys(*place, len(incoming), weights)
    groups = {0: (fanout, candidates)}
    if np.ndim(fanout):
        groups = {rel: (wanted, [x for x in candidates if incoming[x][1] == rel]) for rel, wanted in enumerate(fanout.tolist())}
    chosen = []
    for wanted, group in groups.values():
        likely = [x for x in group if weights is None or weights[x] > 0]
        chosen += group if wanted < 0 else sorted(likely, key=lambda x: keys[x])[:wanted]
    return sorted(chosen)


def naive_sample(rows, edges, base_rows, seeds, fanouts, seed, exclude=(), both=False):
    """What `sample` should return, edge by edge, from the same draws."""
    exclude = {*exclude, *((b, a) for a, b in exclude if both)}
    nodes, local = list(seeds), {node: i for i, node in enumerate(seeds)}
    hop_nodes, hop_edges, degrees, indices, rels, first = [len(seeds)], [], [], [], [], 0
    neighbours = missing = 0
    for hop, fanout in enumerate(fanouts):
        last, edges_before = len(nodes), len(indices)
        for node in nodes[first:last]:
            incoming = sorted((src, *rest) for src, dst, *rest in edges if dst == node)
            resident = [x for x, (src, *_) in enumerate(incoming) if src // rows in base_rows]
            candidates = [x for x in resident if (incoming[x][0], node) not in exclude]
            neighbours += len(incoming)
            missing += len(incoming) - len(resident)
            drawn = naive_draw(incoming, candidates, fanout, (seed, hop, node), weighted=edges and len(edges[0]) == 4)
            degrees.append(len(drawn))
            for src, rel, *_ in (incoming[x] for x in drawn):
                if src not in local:
                    local[src] = len(nodes)
                    nodes.append(src)
                indices.append(local[src])
                rels.append(rel)
        hop_nodes.append(len(nodes) - last)
        hop_edges.append(len(indices) - edges_before)
        first = last
    return {
        "nodes": nodes,
        "rows": [base_rows[node // rows] + node % rows for node in nodes],
        "hop_nodes": hop_nodes,
        "indptr": [0, *accumulate(degrees)],
        "indices": indices,
        "rel": rels,
        "hop_edges": hop_edges,
        "neighbours": neighbours,
        "missing": missing,
    }
