"""Whether two versions of the program compute the same: digests of what a set of short commands makes, bit for bit.

    .venv/bin/python scripts/bench/same_bits.py FOLDER            # the version before: datasets, runs and digests.json
    .venv/bin/python scripts/bench/same_bits.py OTHER FOLDER      # the version after: the same into OTHER; tells what differs

The second also reads and resumes the runs of the first with its own program. Every decoder, optimizer, loss, encoder and ordering
is there, in memory and out of core, on the CPU and, on the host, by the way of a GPU (same_bits_cases.py); times and sizes of
machines are left out. Bits are those of one machine and one build of torch: both must be made on the same. Each takes four to ten
minutes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import yaml
from same_bits_cases import DATASETS, of_nodes, runs, write_raw

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests" / "device"))


def on_the_host(folder: Path) -> None:
    """From now on runs go the way of a GPU, on this processor."""
    from emulated import accelerator
    from host_library import build_host_library

    from marius_lite import _native

    library = _native.CudaLibrary(str(build_host_library(folder)))
    for name, module in list(sys.modules.items()):
        if name.startswith("marius_lite") and hasattr(module, "open_accelerator"):
            module.open_accelerator = lambda device: accelerator(library, seed=5)[0]


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


def make(folder: Path) -> dict[str, dict[str, str]]:
    """Everything, anew; digests by name and file."""
    from marius_lite import export_run
    from marius_lite.cli.main import run as command
    from marius_lite.config.load import load
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
            said = ask(folder / "datasets" / dataset, run, sets)
            (run / "said.json").write_text(json.dumps(said))
            export_run(run, run / "vectors", "npy")
        found[f"run {name}"] = digests(run)
    return found


def place_of(run: str) -> str:
    return run.replace(" ", "_").replace(":", ".")


def ask(dataset: Path, run: Path, sets: list[str]) -> dict[str, Any]:
    """Figures and answers of a run."""
    import marius_lite as ml

    said: dict[str, Any] = {"eval": ml.evaluate_run(run, "test", dataset=dataset)}
    if of_nodes(sets):
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
        said = without(json.loads(json.dumps(ask(data, copied, sets))))
        if said != without(json.loads((old / "said.json").read_text())):
            wrong.append(f"run {name}: other answers")
        if ml.resume_run(copied, None, ["training.epochs=9"], dataset=data)["epochs"] < 4:
            wrong.append(f"run {name}: not resumed")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("before", type=Path, nargs="?")
    a = parser.parse_args()
    folder = a.folder.absolute()
    found = make(folder)
    (folder / "digests.json").write_text(json.dumps(found, indent=1))
    print(f"{len(found)} datasets and runs, {sum(map(len, found.values()))} files: {folder / 'digests.json'}")
    if a.before:
        other = a.before.absolute()
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
