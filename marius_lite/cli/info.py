"""`marius-lite info`: what a folder holds."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated, Any

import typer


def info(
    folder: Annotated[Path, typer.Argument(metavar="DATASET", help="A dataset folder.")],
    verify: Annotated[bool, typer.Option(
        "--verify", help="Read everything and check it against the recorded checksums.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show what a folder holds."""
    facts = describe(folder, verify)
    if json:
        typer.echo(json_module.dumps(facts))
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        typer.echo(f"{name:<{width}}  {_readable(value)}")


def describe(folder: Path, verify: bool) -> dict[str, Any]:
    """The facts to print, by what kind of folder it is. Raises UserError for a folder of no known kind."""
    return describe_dataset(folder, verify)


def describe_dataset(folder: Path, verify: bool) -> dict[str, Any]:
    """A dataset's manifest without its list of files, its size in bytes, and whether it was verified."""
    from marius_lite.graph import Dataset

    dataset = Dataset.open(folder)
    if verify:
        dataset.verify()
    facts = dataset.manifest.model_dump(mode="json", exclude={"files"})
    size = sum(size for size, _ in dataset.manifest.files.values())
    return {
        "path": str(folder),
        **facts,
        "files": len(dataset.manifest.files),
        "bytes": size,
        "verified": verify,
    }


def _readable(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return value if isinstance(value, str) else json_module.dumps(value)
