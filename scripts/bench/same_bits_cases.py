"""What same_bits.py makes: raw files, datasets of them, and runs with every part of the program."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

NODES, RELATIONS, CLASSES = 600, 5, 4


def write_raw(folder: Path) -> None:
    """Edges of many kinds, what nodes have, and the same edges in many formats."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(7)
    classes = rng.integers(CLASSES, size=NODES)
    src = np.concatenate([np.arange(NODES), rng.integers(NODES, size=5000)])
    rel = rng.integers(RELATIONS, size=len(src))
    dst = (src + 10 * rel + rng.integers(5, size=len(src))) % NODES
    near = np.array([rng.choice(np.flatnonzero(classes == classes[s])) for s in src])
    dst = np.where(rng.random(len(src)) < 0.5, dst, near)
    weight = rng.uniform(0.1, 2, len(src)).astype(np.float32)
    lines = [f"node{s}\trel{r}\tnode{d}" for s, r, d in zip(src, rel, dst)]
    (folder / "kg.tsv").write_text("\n".join(lines) + "\n")
    (folder / "kg.csv").write_text(
        "head,relation,tail,weight\n" + "".join(f"node{s},rel{r},node{d},{w}\n" for s, r, d, w in zip(src, rel, dst, weight))
    )
    (folder / "kg.nt").write_text("".join(f"<http://x/{s}> <http://x/r{r}> <http://x/{d}> .\n" for s, r, d in zip(src, rel, dst)))
    pq.write_table(pa.table({"src": src, "rel": rel, "dst": dst, "weight": weight}), folder / "kg.parquet")
    np.save(folder / "kg.npy", np.stack([src, rel, dst], 1))
    np.savez(folder / "plain.npz", edge_index=np.stack([src, dst]))
    np.save(folder / "plain.npy", np.stack([src, dst], 1))
    header = f"%%MatrixMarket matrix coordinate pattern general\n{NODES} {NODES} {len(src)}\n"
    (folder / "plain.mtx").write_text(header + "".join(f"{s + 1} {d + 1}\n" for s, d in zip(src, dst)))
    (folder / "types.tsv").write_text("".join(f"node{n}\tkind{n % 3}\n" for n in range(NODES)))
    (folder / "ids.txt").write_text("".join(f"node{n}\n" for n in range(NODES)))
    features = rng.normal(size=(NODES, 12)) + 0.7 * np.eye(CLASSES, 12)[classes]
    np.save(folder / "features.npy", features.astype(np.float32))
    np.save(folder / "labels.npy", classes)
    np.save(folder / "several.npy", (np.eye(CLASSES, dtype=int)[classes] | np.eye(CLASSES, dtype=int)[(classes + 1) % CLASSES]))


COMMON = ["--split", "0.8,0.1,0.1"]
NODE_DATA = ["--features", "features.npy", "--node-ids", "ids.txt"]
CLASSIFIED = ["plain.npy", "--undirected", "--partitions", "4", "--features", "features.npy", "--node-split", "0.3,0.3,0.4"]
DATASETS: dict[str, list[str]] = {
    "kg": ["kg.tsv", *COMMON, "--partitions", "4", "--adjacency", "in"],
    "csv": [
        "kg.csv",
        *COMMON,
        "--columns",
        "head,relation,tail",
        "--edge-weight",
        "weight",
        "--partitions",
        "4",
        "--adjacency",
        "in",
    ],
    "nt": ["kg.nt", *COMMON, "--partitions", "3"],
    "parquet": ["kg.parquet", *COMMON, "--partitions", "8"],
    "npy": ["kg.npy", *COMMON, "--partitions", "2"],
    "mtx": ["plain.mtx", *COMMON, "--partitions", "4", "--undirected"],
    "npz": ["plain.npz", *COMMON, "--partitions", "4"],
    "locality": ["plain.npy", *COMMON, "--partitions", "4", "--undirected", "--partitioner", "locality", "--adjacency", "in"],
    "types": ["kg.tsv", *COMMON, "--partitions", "4", "--node-types", "types.tsv"],
    "featured": ["kg.tsv", *COMMON, "--partitions", "4", "--adjacency", "in", *NODE_DATA, "--feature-dtype", "float16"],
    "int8": ["kg.tsv", *COMMON, "--partitions", "4", "--adjacency", "in", *NODE_DATA, "--feature-dtype", "int8"],
    "classes": [*CLASSIFIED, "--labels", "labels.npy"],
    "several": [*CLASSIFIED, "--labels", "several.npy"],
    "related": [
        "kg.tsv",
        "--partitions",
        "4",
        "--adjacency",
        "in",
        *NODE_DATA,
        "--labels",
        "labels.npy",
        "--node-split",
        "0.3,0.3,0.4",
    ],
}

SHORT = [
    "training.threads=1",
    "training.epochs=2",
    "training.batch_size=500",
    "model.dim=12",
    "negatives.count=30",
    "negatives.chunks=2",
    "evaluation.max_edges=100",
    "checkpoint.keep=2",
    "storage.memory=200MB",
]
PAGED = ["storage.capacity=2", "storage.ordering=comet"]
NODE = [
    "task=node_classification",
    "training.threads=1",
    "training.epochs=3",
    "training.batch_size=40",
    "model.layers=[8]",
    "sampling.fanouts=[5,3]",
    "storage.memory=200MB",
]
ENCODED = [*SHORT, "model.layers=[8]", "sampling.fanouts=[5,3]", "training.batch_size=300"]


def runs() -> dict[str, tuple[str, list[str]]]:
    """(dataset, settings) by name; names that begin with "device" go the way of a GPU."""
    made: dict[str, tuple[str, list[str]]] = {}
    for decoder in ("dot", "distmult", "complex", "transe", "transe_l1", "rotate"):
        made[f"{decoder}, in memory"] = "kg", [*SHORT, f"model.decoder={decoder}"]
        made[f"{decoder}, paged"] = "kg", [*SHORT, *PAGED, f"model.decoder={decoder}", "model.dropout=0.2"]
        made[f"{decoder}, all negatives"] = "kg", [*SHORT, *PAGED, f"model.decoder={decoder}", "negatives.count=all"]
        made[f"device, {decoder}"] = "kg", [*SHORT, *PAGED, f"model.decoder={decoder}"]
    for optimizer in ("row_adagrad", "adagrad", "adam", "sgd"):
        names = [f"optimizer.rows.name={optimizer}", f"optimizer.dense.name={optimizer.removeprefix('row_')}"]
        made[f"{optimizer}"] = "kg", [*SHORT, *PAGED, *names, "optimizer.rows.clip=0.5", "optimizer.dense.clip=0.5"]
        for path in ("zero_copy", "staged", "bulk"):
            made[f"device, {optimizer}, {path}"] = "kg", [*SHORT, *PAGED, *names, f"storage.device_path={path}"]
        rates = ["optimizer.rows.lr=0.001", "optimizer.dense.lr=0.001"] if optimizer == "sgd" else []
        made[f"{optimizer}, features and rows"] = (
            "featured",
            [*ENCODED, *PAGED, "model.encoder=sage", "model.inputs=both", *names, *rates],
        )
    for loss in ("softmax", "logistic", "margin"):
        made[f"{loss}, by degree"] = (
            "kg",
            [
                *SHORT,
                *PAGED,
                f"loss.name={loss}",
                "negatives.degree_fraction=0.5",
                "negatives.log_q=true",
                "negatives.mask_known=true",
            ],
        )
    made["beta"] = "parquet", [*SHORT, "storage.capacity=3", "storage.ordering=beta", "storage.window_edges=200"]
    made["n3, schedule"] = (
        "npy",
        [
            *SHORT,
            "regularizer.name=n3",
            "regularizer.weight=0.1",
            "regularizer.decay=0.5",
            "optimizer.schedule.name=plateau",
            "optimizer.schedule.warmup=0.5",
            "loss.relation_weight=0.3",
        ],
    )
    made["cosine, not reciprocal"] = "nt", [*SHORT, "optimizer.schedule.name=cosine", "model.reciprocal=false"]
    made["mixed"] = "kg", [*SHORT, "training.precision=mixed"]
    made["plain"] = "mtx", [*SHORT, "model.decoder=dot"]
    made["early"] = "kg", [*SHORT, "training.epochs=6", "training.early_stopping=1", "optimizer.rows.lr=0.5"]
    for encoder, dataset in (("sage", "kg"), ("gcn", "locality"), ("gat", "featured"), ("rgcn", "int8")):
        made[f"links by {encoder}, in memory"] = dataset, [*ENCODED, f"model.encoder={encoder}"]
        made[f"links by {encoder}, paged"] = (
            dataset,
            [*ENCODED, *PAGED, f"model.encoder={encoder}", "model.norm=layer", "model.residual=true", "model.dropout=0.1"],
        )
        made[f"device, links by {encoder}"] = dataset, [*ENCODED, *PAGED, f"model.encoder={encoder}"]
    made["links by weights"] = "csv", [*ENCODED, "model.encoder=sage", "sampling.weighted=true"]
    for encoder in ("sage", "gcn", "gat", "torch_geometric.nn.models:GraphSAGE"):
        for name, dataset in (("one class", "classes"), ("several classes", "several")):
            both = [*NODE, "storage.capacity=2", f"model.encoder={encoder}", "model.dim=8", "model.inputs=both"]
            made[f"{name} by {encoder}"] = dataset, [*NODE, f"model.encoder={encoder}"]
            made[f"{name} by {encoder}, paged"] = dataset, [*both, "model.normalize_features=true"]
            if ":" not in encoder:
                made[f"device, {name} by {encoder}"] = (
                    dataset,
                    [*both, "storage.device_path=zero_copy", "storage.device_cache=4kB"],
                )
    made["classes by rgcn"] = (
        "related",
        [*NODE, "model.encoder=rgcn", "loss.class_weights=balanced", "sampling.fanouts=[{rel0: 3, default: 1}, 4]"],
    )
    made["device, features alone"] = "classes", [*NODE, "storage.capacity=2", "model.encoder=sage", "storage.device_path=bulk"]
    few = [*NODE, "storage.capacity=2", "model.encoder=sage"]
    made["rows in packs"] = "classes", [*few, "sampling.scope=exact", "sampling.refresh_epochs=2", "storage.packs_disk=1MB"]
    for encoder in ("sage", "gcn"):
        layers = ["training.method=layerwise", "training.layer_epochs=2", f"model.encoder={encoder}"]
        made[f"layer after layer by {encoder}"] = "classes", [*few, *layers]
    return made


def of_nodes(sets: list[str]) -> bool:
    """Whether a run with these settings classifies nodes."""
    return NODE[0] in sets
