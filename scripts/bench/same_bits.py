"""Whether two versions of the program compute the same: digests of what a set of short commands makes, bit for bit.

    .venv/bin/python scripts/bench/same_bits.py FOLDER            # the version before: datasets, runs and digests.json
    .venv/bin/python scripts/bench/same_bits.py OTHER FOLDER      # the version after: the same into OTHER; tells what differs

The second also reads and resumes the runs of the first with its own program. Every decoder, optimizer, loss, encoder and ordering
is there, in memory and out of core, on the CPU and, on the host, by the way of a GPU; times and sizes of machines are left out.
Bits are those of one machine and one build of torch: both must be made on the same. Each takes four minutes or so.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests" / "device"))

NODES, RELATIONS, CLASSES = 600, 5, 4

# ---- raw files


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
    "classes": [
        "plain.npy",
        "--undirected",
        "--partitions",
        "4",
        "--features",
        "features.npy",
        "--labels",
        "labels.npy",
        "--node-split",
        "0.3,0.3,0.4",
    ],
    "several": [
        "plain.npy",
        "--undirected",
        "--partitions",
        "4",
        "--features",
        "features.npy",
        "--labels",
        "several.npy",
        "--node-split",
        "0.3,0.3,0.4",
    ],
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

# ---- runs

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
    return made


def on_the_host(folder: Path) -> None:
    """From now on runs go the way of a GPU, on this processor."""
    from emulated import accelerator
    from host_library import build_host_library

    from marius_lite import _native

    library = _native.CudaLibrary(str(build_host_library(folder)))
    for name, module in list(sys.modules.items()):
        if name.startswith("marius_lite") and hasattr(module, "open_accelerator"):
            module.open_accelerator = lambda device: accelerator(library, seed=5)[0]


# ---- digests


def digests(folder: Path) -> dict[str, str]:
    """Of every file, by its path; of JSON without what depends on the clock, the machine or where the folder is."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(stable(path)).hexdigest()[:16]
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


CHANGING = ("machine", "time", "seconds", "absolute", "metrics_length", "checksum")
"""Keys of what the clock, the machine and the place of a folder decide, and of checksums over these."""


def stable(path: Path) -> bytes:
    content = path.read_bytes()
    if path.name == "metrics.jsonl":
        return b"\n".join(sorted_json(json.loads(line)) for line in content.splitlines())
    if path.suffix in (".json", ".yaml"):
        return sorted_json(yaml.safe_load(content) if path.suffix == ".yaml" else json.loads(content))
    return content


def sorted_json(value: Any) -> bytes:
    return json.dumps(without(value), sort_keys=True).encode()


def without(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without(each) for key, each in value.items() if key not in CHANGING}
    return [without(each) for each in value] if isinstance(value, list) else value


# ---- commands


def make(folder: Path) -> dict[str, dict[str, str]]:
    """Everything, anew; digests by name and file."""
    from marius_lite.cli.main import run as command
    from marius_lite.config.load import load
    from marius_lite.export import export_run
    from marius_lite.train.run import resume_run, train_run

    found: dict[str, dict[str, str]] = {}
    write_raw(folder / "raw")
    for name, given in DATASETS.items():
        arguments = [str(folder / "raw" / each) if (folder / "raw" / each).is_file() else each for each in given]
        assert command(["preprocess", *arguments, "--output", str(folder / "datasets" / name)]) == 0, name
        found[f"dataset {name}"] = digests(folder / "datasets" / name)
    again = ["--output", str(folder / "datasets" / "again"), "--partitions", "7"]
    assert command(["repartition", str(folder / "datasets" / "featured"), *again]) == 0
    found["dataset again"] = digests(folder / "datasets" / "again")
    every = runs()
    for name in sorted(every, key=lambda name: name.startswith("device")):
        if name.startswith("device") and not (folder / "host").exists():
            (folder / "host").mkdir()
            on_the_host(folder / "host")
        dataset, sets = every[name]
        run = folder / "runs" / place_of(name)
        run.parent.mkdir(exist_ok=True)
        train_run(folder / "datasets" / dataset, run, load(sets=sets))
        if not name.startswith("device"):
            resume_run(run, None, ["training.epochs=7"] if name == "early" else ["training.epochs=4"])
            said = ask(folder / "datasets" / dataset, run, NODE[0] in sets)
            (run / "said.json").write_text(json.dumps(said))
            export_run(run, run / "vectors", "npy")
        found[f"run {name}"] = digests(run)
    return found


def place_of(run: str) -> str:
    return run.replace(" ", "_").replace(":", ".")


def ask(dataset: Path, run: Path, of_nodes: bool) -> dict[str, Any]:
    """Figures and answers of a run."""
    import marius_lite as ml

    said: dict[str, Any] = {"eval": ml.evaluate_run(run, "test", dataset=dataset)}
    if of_nodes:
        return {**said, "nodes": list(ml.predict_nodes(run, dataset=dataset))}
    opened = ml.open_dataset(dataset)
    relation = [str(name) for name in opened.relation_names()][:1] if opened.manifest.relations > 1 else []
    queries = [(str(node), *relation, None) for node in opened.raw_ids(0, 5).to_pylist()]
    return {**said, "links": ml.predict_links(run, queries, topk=7, dataset=dataset)}


def reopen(before: Path, scratch: Path) -> list[str]:
    """What this program says otherwise of the runs that the one before made, and which it does not resume."""
    import marius_lite as ml

    wrong = []
    for name, (dataset, sets) in runs().items():
        old, data, copied = before / "runs" / place_of(name), before / "datasets" / dataset, scratch / place_of(name)
        if name.startswith("device"):
            continue
        shutil.copytree(old, copied, symlinks=True)
        said = without(json.loads(json.dumps(ask(data, copied, NODE[0] in sets))))
        if said != without(json.loads((old / "said.json").read_text())):
            wrong.append(f"run {name}: other answers")
        if ml.resume_run(copied, None, ["training.epochs=9"], dataset=data)["epochs"] < 4:
            wrong.append(f"run {name}: not resumed")
    return wrong


def main() -> None:
    folder = Path(sys.argv[1]).absolute()
    found = make(folder)
    (folder / "digests.json").write_text(json.dumps(found, indent=1))
    print(f"{len(found)} datasets and runs, {sum(map(len, found.values()))} files: {folder / 'digests.json'}")
    if len(sys.argv) > 2:
        other = Path(sys.argv[2]).absolute()
        before = json.loads((other / "digests.json").read_text())
        differ = [
            f"{name}: {file}"
            for name in sorted({*found, *before})
            for file in sorted({*found.get(name, {}), *before.get(name, {})})
            if found.get(name, {}).get(file) != before.get(name, {}).get(file)
        ]
        differ += reopen(other, folder / "reopened")
        print("\n".join(differ) or "every file is the same, and the other's runs are read and resumed")
        sys.exit(bool(differ))


if __name__ == "__main__":
    main()
