"""The command `marius-lite info`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from marius_lite.cli import options
from marius_lite.errors import UserError


def info(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DATASET | RUN]", help="A folder made by preprocess or train. Without one, info describes the machine."
        ),
    ] = None,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Read everything, of a run its checkpoints. Compare it with its checksums, and a dataset with what its "
            "manifest says.",
        ),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Show what a dataset or a run holds, or what this machine offers."""
    from marius_lite.cli.output import show, warn

    facts = describe(folder, verify)
    if not as_json:
        warn(facts.pop("warnings", []))
        facts = {name: _named(value) for name, value in facts.items() if value not in (None, {})}  # what there is not
    show(facts, as_json)


def describe(folder: Path | None, verify: bool) -> dict[str, Any]:
    """Return the facts to print, for a dataset, a run or the machine. Raises UserError for a folder of no
    known kind, and for ``verify`` without one."""
    if folder is None:
        if verify:
            raise UserError("--verify: nothing to verify without a folder: name a dataset or a run")
        from marius_lite.machine import describe as describe_machine

        return describe_machine(Path.cwd())
    from marius_lite.remote.run import is_published_run

    if (folder / "config.yaml").exists() or is_published_run(folder):
        from marius_lite.checkpoint.describe import describe_run

        return describe_run(folder, verify)
    from marius_lite.graph.describe import describe_dataset

    return describe_dataset(folder, verify)


def _named(value: Any) -> Any:
    """Call the segments first that preprocess wrote: their own name is empty."""
    if isinstance(value, dict):
        return {key: "first" if key == "name" and inner == "" else _named(inner) for key, inner in value.items()}
    return [_named(each) for each in value] if isinstance(value, list) else value
