"""A dataset with three types of nodes and two relations, one of which joins several types."""

import numpy as np

PAPERS, AUTHORS, VENUES, WIDTH = 600, 360, 24, 450
NODES = PAPERS + AUTHORS + VENUES
TYPES = ["author", "paper", "venue"]
RELATIONS = ["made", "near"]
EDGE_TYPES = [
    ("author", "made", "paper"),
    ("paper", "near", "author"),
    ("paper", "near", "paper"),
    ("paper", "near", "venue"),
    ("venue", "near", "paper"),
]


def edges_between(rng, first, second, count):
    """Random edges, none twice, between two ranges of ids: more of them within a class, which is an id modulo 3."""
    src = rng.choice(first, size=4 * count)
    near = second.start + (rng.integers(len(second) // 3, size=4 * count) * 3 + (src - second.start) % 3)
    dst = np.where(rng.random(4 * count) < 0.9, near, rng.choice(second, size=4 * count))
    edges = np.unique(np.stack([src, dst], 1), axis=0)
    return rng.permutation(edges)[:count]


def write(folder):
    """Its files. Of raw id i: row i of features, types and classes, which are labels of papers; the edges, (edges, 3)."""
    rng = np.random.default_rng(3)
    papers, authors, venues = range(PAPERS), range(PAPERS, PAPERS + AUTHORS), range(PAPERS + AUTHORS, NODES)
    ends = [(authors, papers), (papers, authors), (papers, papers), (papers, venues), (venues, papers)]
    parts = [
        np.insert(edges_between(rng, first, second, 1200), 1, RELATIONS.index(relation[1]), axis=1)
        for (first, second), relation in zip(ends, EDGE_TYPES)
    ]
    edges = rng.permutation(np.concatenate(parts))
    classes = np.arange(NODES) % 3
    features = (rng.normal(size=(NODES, WIDTH)) + 0.3 * np.eye(3, WIDTH)[classes]).astype(np.float32)
    types = np.repeat(["paper", "author", "venue"], [PAPERS, AUTHORS, VENUES])
    (folder / "types.tsv").write_text("".join(f"{node}\t{name}\n" for node, name in enumerate(types)))
    (folder / "labels.tsv").write_text("".join(f"{node}\t{classes[node]}\n" for node in papers))
    np.save(folder / "features.npy", features)
    np.save(folder / "train.npy", rng.permutation(PAPERS)[:100])
    return {"edges": edges, "features": features, "types": types, "classes": classes, "folder": folder}


def arguments(files, name, relation):
    """Of ``preprocess``, for a dataset whose edges of a type have what ``relation`` says of it in the middle of their rows."""
    folder, types = files["folder"], files["types"]
    rows = [[s, *relation((types[s], RELATIONS[r], types[d])), d] for s, r, d in files["edges"].tolist()]
    (folder / f"{name}.tsv").write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    about = [part for kind in ("features.npy", "labels.tsv") for part in (f"--{kind.split('.')[0]}", folder / kind)]
    about += ["--node-types", folder / "types.tsv", "--train-nodes", folder / "train.npy"]
    return ["preprocess", folder / f"{name}.tsv", *about, "--adjacency", "in", "--partitions", "4", "--output", folder / name]
