"""A command with every pass of preprocess: what it makes where nothing happens to it, and the pass of each of its calls."""

import json

import numpy as np
import pytest
from preprocess_faults import CHANGES, Faults
from preprocess_tools import data_files

PASSES = ["read", "number", "nodes", "types", "partition", "names", "tables", "sort", "write", "adjacency", "edge types"]
OPTIONS = [
    "--memory",
    "1MiB",
    "--undirected",
    "--split",
    "0.8,0.1,0.1",
    "--partitions",
    "3",
    "--partitioner",
    "locality",
    "--adjacency",
    "in",
    "--node-split",
    "0.5,0.3,0.2",
    "--delimiter",
    "tab",
]


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    """Everything there is to make of 400 nodes: the arguments but the output."""
    folder, rng = tmp_path_factory.mktemp("raw"), np.random.default_rng(7)
    names = [f"the node of number {number}" for number in rng.permutation(400)]
    for file in range(4):  # in each some nodes that were not seen before
        ends = rng.integers(100 * (file + 1), size=(700, 2))
        (folder / f"{file}.tsv").write_text("".join(f"{names[s]}\tr{k % 5}\t{names[d]}\n" for k, (s, d) in enumerate(ends)))
    (folder / "names.txt").write_text("\n".join(names) + "\n")
    np.save(folder / "features.npy", rng.normal(size=(400, 6)).astype(np.float32))
    np.save(folder / "labels.npy", rng.integers(-1, 5, 400))
    (folder / "types.txt").write_text("".join(f"{name}\ttype {k % 3}\n" for k, name in enumerate(names)))
    return [
        *sorted(folder.glob("*.tsv")),
        "--features",
        folder / "features.npy",
        "--labels",
        folder / "labels.npy",
        "--node-ids",
        folder / "names.txt",
        "--node-types",
        folder / "types.txt",
        *OPTIONS,
    ]


@pytest.fixture(scope="module")
def undisturbed(server, command, tmp_path_factory):
    """(the files of a run that nothing happens to, its calls)."""
    folder = tmp_path_factory.mktemp("undisturbed")
    code, told = server.run([*command, "--output", folder / "run/d"], TRACE=f"{CHANGES}:{folder}/run:{folder}/trace")
    assert code == 0, told
    report = json.loads((folder / "run/d/report.json").read_bytes())
    assert [name for name in report["seconds"] if name != "total"] == PASSES
    assert report["sorted_runs"] > 1
    return data_files(folder / "run/d"), Faults.read_trace(folder / "trace")


def pass_of_each(calls):
    """The pass under way at each call; after the last, `publish`."""
    names, found = iter([*PASSES, "dataset", "publish"]), []
    name = next(names)
    for call in calls:
        found.append(name)
        if call.op == "rename" and call.other.endswith("/progress.json"):
            name = next(names)
    assert name == "publish"
    return found
