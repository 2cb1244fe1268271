"""Small files in the layout of a recipe's real ones, and the recipe with these addresses and counts."""

import gzip
import io
import tarfile
import zipfile

import numpy as np
import torch

NODES, RELATIONS, WIDTH, CLASSES = 60, 5, 8, 4
SPLITS = {"train": 400, "valid": 40, "test": 40}


def triples(split):
    """(edges, 3): source, relation, destination. Training has every node and relation."""
    rng, count = np.random.default_rng(len(split)), SPLITS[split]
    edges = np.stack([rng.integers(0, NODES, count), rng.integers(0, RELATIONS, count), rng.integers(0, NODES, count)], 1)
    if split == "train":
        edges[:NODES, 0], edges[:NODES, 1] = np.arange(NODES), np.arange(NODES) % RELATIONS
    return edges


def pairs():
    return triples("train")[:, [0, 2]]


def lines(rows, separator="\t", prefix=""):
    return "".join(separator.join(f"{prefix}{value}" for value in row) + "\n" for row in rows).encode()


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def npz(**arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def pickled(arrays):
    out = io.BytesIO()
    torch.save(arrays, out)
    return out.getvalue()


def archive(name, members):
    out = io.BytesIO()
    if name.endswith(".zip"):
        with zipfile.ZipFile(out, "w") as packed:
            for member, data in members.items():
                packed.writestr(f"folder/{member}", data)
    else:
        with tarfile.open(fileobj=out, mode="w:gz") as packed:
            for member, data in members.items():
                info = tarfile.TarInfo(f"folder/{member}")
                info.size = len(data)
                packed.addfile(info, io.BytesIO(data))
    return out.getvalue()


def node_ids(split):
    first, end = {"train": (0, 36), "valid": (36, 48), "test": (48, 60)}[split]
    return np.arange(first, end)


def member(recipe, path):
    """The bytes of a file that a recipe names, by what its name says of its layout."""
    name = path.rpartition("/")[2]
    split = next((each for each in SPLITS if each in name), "valid" if "val" in name else None)
    features = np.random.default_rng(1).normal(size=(NODES, WIDTH)).astype(np.float32)
    labels = (np.arange(NODES) % CLASSES)[:, None]
    if name == "data.npz":
        return npz(edge_index=pairs().T, node_feat=features, num_nodes_list=np.array([NODES]))
    if name == "node-label.npz":
        return npz(node_label=labels.astype(np.float32))
    if path.startswith("split/") and name.endswith(".csv.gz"):
        return gzip.compress(lines(node_ids(split)[:, None]))
    if name.endswith(".pt"):
        head, relation, tail = triples(split).T
        return pickled(
            {"head": head, "relation": relation, "tail": tail, "source_node": head, "target_node": tail}
            | {"edge": np.stack([head, tail], 1), "edge_neg": np.zeros((9, 2), int)}
        )
    tables = {
        "edge.csv.gz": lambda: gzip.compress(lines(pairs(), ",")),
        "num-node-list.csv.gz": lambda: gzip.compress(f"{NODES}\n".encode()),
        "node-feat.csv.gz": lambda: gzip.compress(lines(features, ",")),
        "node-label.csv.gz": lambda: gzip.compress(lines(labels)),
        "train_hrt.npy": lambda: npy(triples("train").astype(np.int32)),
        "val_hr.npy": lambda: npy(triples("valid")[:, :2]),
        "val_t.npy": lambda: npy(triples("valid")[:, 2]),
        "edge_index.npy": lambda: npy(pairs() if recipe.name.startswith("IGB") else pairs().T),
        "node_feat.npy": lambda: npy(features),
        "node_label_19.npy": lambda: npy(labels[:, 0].astype(np.float32)),
    }
    if name in tables:
        return tables[name]()
    if name.endswith(".txt.gz"):
        return gzip.compress(b"# Directed graph\n# FromNodeId\tToNodeId\n" + lines(pairs(), " " if "twitter" in name else "\t"))
    assert split, f"{recipe.name}: {path}: unknown layout"
    columns = [0, 2, 1] if recipe.name == "Freebase86m" else [0, 1, 2]
    return lines(triples(split)[:, columns], prefix="" if recipe.name == "Freebase86m" else "/m/")


def content(recipe):
    """The bytes of each of a recipe's files, by name."""
    return {
        file.name: archive(file.name, {path: member(recipe, path) for path in recipe.unpack[file.name]})
        if file.name in recipe.unpack
        else member(recipe, file.name)
        for file in recipe.files
    }


def counts(recipe):
    """The counts that the stand-in has, for all that the recipe counts."""
    edges = {"train": 400, "valid": 40, "test": 40, "all": 400 if len(recipe.inputs) == 1 or recipe.counts.labelled else 480}
    given = {"nodes": NODES, "nodes_at_most": NODES, "relations": 1 if recipe.counts.relations == 1 else RELATIONS}
    given |= {
        "classes": CLASSES,
        "features": WIDTH,
        "labelled": {split: len(node_ids(split)) for split in SPLITS},
        "edges": edges,
    }
    expected = recipe.counts.model_dump(exclude_none=True, exclude_defaults=True)
    return {
        key: {split: given[key][split] for split in value} if isinstance(value, dict) else given[key]
        for key, value in expected.items()
    }


def stand_in(recipe, address):
    """The recipe with files at ``address``/NAME, as a tree."""
    ends = {0: 0, **dict(zip(sorted(ends_of(recipe)), (36, 48, 60)))}
    tree = recipe.model_dump(mode="json", exclude_defaults=True)
    tree["files"] = [{"name": file.name, "urls": [f"{address}/{file.name}"]} for file in recipe.files]
    for conversion in tree.get("convert", []):
        if "range" in conversion:
            conversion["range"] = [ends[end] for end in conversion["range"]]
    return {**tree, "counts": counts(recipe)}


def ends_of(recipe):
    return {conversion.range[1] for conversion in recipe.convert if conversion.range}
