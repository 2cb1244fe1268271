"""What a run holds, for `info`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from marius_lite.checkpoint.dense import read_dense
from marius_lite.checkpoint.run_folder import RunFolder, read_record
from marius_lite.checkpoint.save import BEST, find, published
from marius_lite.checkpoint.state import read_state
from marius_lite.errors import UserError
from marius_lite.graph.dataset import file_checksum


def describe_run(folder: Path, verify: bool) -> dict[str, Any]:
    """A run's record and checkpoints; with ``verify`` every chunk of every checkpoint is read and compared."""
    run = RunFolder(folder)
    record = read_record(run)
    checkpoints, latest = published(run), find(run, None)
    facts = {"kind": "run", "path": str(folder), "program_version": record["program_version"], **record["dataset"],
             "checkpoints": [path.name for path in checkpoints],
             "latest": latest.name if latest else None}
    best = run.checkpoints / BEST
    if best.is_symlink():
        facts["best"] = best.readlink().name
    for path in checkpoints if verify else []:
        verify_checkpoint(path)
    config = record["config"]
    return {**facts, "task": config["task"], **_model(config),
            "epochs": config["training"]["epochs"], "capacity": config["storage"]["capacity"],
            "ordering": config["storage"]["ordering"], "device": config["device"], "verified": verify}


def _model(config: dict[str, Any]) -> dict[str, Any]:
    """What its model is made of: a decoder scores links, an encoder tells classes by itself."""
    model = config["model"]
    encoder = {name: model[name] for name in ("encoder", "layers", "inputs")} if model["encoder"] != "none" else {}
    rows = {"dim": model["dim"]} if model["inputs"] != "features" or config["task"] == "link_prediction" else {}
    return {**encoder, **({"decoder": model["decoder"]} if config["task"] == "link_prediction" else {}), **rows}


def verify_checkpoint(path: Path) -> None:
    """Raises UserError for the first file that is not what the checkpoint recorded."""
    state = read_state(path)
    read_dense(path, state.dense)
    for k, expected in state.checksums.items():
        file = path / "nodes" / "c" / str(k) / "0"
        if not file.exists() or file_checksum(file, file.stat().st_size) != expected:
            raise UserError(f"{file}: missing or does not match its checksum: resume from another checkpoint "
                            "with --checkpoint")
