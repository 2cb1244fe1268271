"""A knowledge graph with a planted rule, so that the right filtered MRR is known.

    python data_prep/planted_kg.py OUT [--nodes 10240] [--relations 12] [--edges 300000] [--group 5]
        [--noise 0.05] [--one-file] [--seed 0]

Nodes lie in groups of ``group``; the number of groups is a power of two. Relation r carries group g to group
g XOR mask_r: every edge (u, r, v) has v drawn uniformly from the group that r carries u's group to, or, with
probability ``noise``, from all nodes. The rule is its own inverse, so it holds from both ends, and both
DistMult and ComplEx can express it: node values are the signs of random parities of g, relation values those
of mask_r.

Writes train.tsv, valid.tsv, test.tsv (or edges.tsv) with string ids in random order, and oracle.json: what an
oracle that knows the rule, and nothing of which edges were drawn, scores under filtered realistic ranking.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.int64]


def generate(nodes: int, relations: int, edges: int, group: int, noise: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """(src, rel, dst in random order, (E, 3), repeats removed; masks of the relations)."""
    groups = nodes // group
    if nodes % group or groups & (groups - 1) or groups <= relations:
        raise SystemExit(f"{nodes} nodes in groups of {group}: nodes / group must be a power of two above --relations")
    masks = 1 + rng.choice(groups - 1, relations, replace=False)
    src, rel = rng.integers(nodes, size=edges), rng.integers(relations, size=edges)
    dst = (src // group ^ masks[rel]) * group + rng.integers(group, size=edges)
    noisy = rng.random(edges) < noise
    dst[noisy] = rng.integers(nodes, size=int(noisy.sum()))
    return rng.permutation(np.unique(np.stack([src, rel, dst], 1), axis=0)), masks


def oracle_ties(queries: Array, known: Array, masks: Array, nodes: int, group: int) -> tuple[Array, Array]:
    """(candidates above, other candidates equal) of each filtered query, tail queries then head queries.

    The oracle gives 1 inside the rule's group, else 0. The rule is its own inverse: a head query is a tail
    query of the turned edge.
    """
    tails = _tail_ties(queries, known, masks, nodes, group)
    heads = _tail_ties(queries[:, ::-1], known[:, ::-1], masks, nodes, group)
    return np.concatenate([tails[0], heads[0]]), np.concatenate([tails[1], heads[1]])


def _tail_ties(queries: Array, known: Array, masks: Array, nodes: int, group: int) -> tuple[Array, Array]:
    relations = len(masks)
    inside = known[:, 2] // group == (known[:, 0] // group ^ masks[known[:, 1]])
    key = known[:, 0] * relations + known[:, 1]
    known_all = np.bincount(key, minlength=nodes * relations)
    known_inside = np.bincount(key[inside], minlength=nodes * relations)
    key = queries[:, 0] * relations + queries[:, 1]
    hit = queries[:, 2] // group == (queries[:, 0] // group ^ masks[queries[:, 1]])
    free_inside = group - known_inside[key]
    free_outside = nodes - group - (known_all[key] - known_inside[key])
    return np.where(hit, 0, free_inside), np.where(hit, free_inside, free_outside)


def summary(above: Array, equal: Array) -> dict[str, float]:
    """Scores under realistic ranking, and ``mrr_limit``: the mean of 1/rank when ties fall at random.

    A model's scores are hardly ever equal, so its MRR may pass ``mrr`` but in expectation not ``mrr_limit``.
    """
    ranks = 1 + above + equal / 2
    harmonic = np.concatenate([[0], np.cumsum(1 / np.arange(1, int((above + equal).max()) + 2))])
    limit = (harmonic[above + equal + 1] - harmonic[above]) / (equal + 1)
    return {
        "mrr": float((1 / ranks).mean()),
        "mrr_limit": float(limit.mean()),
        **{f"hits@{k}": float((ranks <= k).mean()) for k in (1, 3, 10)},
        "mean_rank": float(ranks.mean()),
    }


def write_rows(path: Path, edges: Array, names: npt.NDArray[np.str_]) -> None:
    columns = (names[edges[:, 0]].tolist(), edges[:, 1].tolist(), names[edges[:, 2]].tolist())
    path.write_text("".join(f"{s}\trel_{r:03d}\t{d}\n" for s, r, d in zip(*columns)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--nodes", type=int, default=10_240)
    parser.add_argument("--relations", type=int, default=12)
    parser.add_argument("--edges", type=int, default=300_000, help="edges drawn, before repeats are removed")
    parser.add_argument("--group", type=int, default=5, help="nodes per group: larger, lower oracle MRR")
    parser.add_argument("--noise", type=float, default=0.05)
    parser.add_argument("--held-out", type=float, default=0.02, help="share of edges in valid, and in test")
    parser.add_argument("--one-file", action="store_true", help="write edges.tsv and no split")
    parser.add_argument("--seed", type=int, default=0)
    a = parser.parse_args()
    rng = np.random.default_rng(a.seed)
    edges, masks = generate(a.nodes, a.relations, a.edges, a.group, a.noise, rng)
    names = np.array([f"node_{number:x}" for number in rng.permutation(a.nodes)])
    a.out.mkdir(parents=True, exist_ok=True)
    held = int(len(edges) * a.held_out)
    parts = {"valid": edges[:held], "test": edges[held : 2 * held], "train": edges[2 * held :]}
    if a.one_file:
        parts = {"edges": edges}
    for name, part in parts.items():
        write_rows(a.out / f"{name}.tsv", part, names)
    oracle = {
        name: {"count": len(part), **summary(*oracle_ties(part, edges, masks, a.nodes, a.group))} for name, part in parts.items()
    }
    settings = {"nodes": a.nodes, "relations": a.relations, "group": a.group, "noise": a.noise, "seed": a.seed}
    (a.out / "oracle.json").write_text(json.dumps({"settings": settings, "oracle": oracle}, indent=1) + "\n")
    print(json.dumps(oracle))


if __name__ == "__main__":
    main()
