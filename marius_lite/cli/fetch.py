"""The command `marius-lite fetch`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from marius_lite.cli import options
from marius_lite.counted import counted

if TYPE_CHECKING:
    from marius_lite.fetch.recipe import Recipe


def fetch(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Which dataset, or the YAML file of a recipe. Without it: a list of all."),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--to", "--output", "-o", metavar="FOLDER", help="Folder for it. The default is its name, here."),
    ] = None,
    given: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Take its files from this machine instead of a server: the file, a folder of the files, or an archive of them.",
        ),
    ] = None,
    raw_only: Annotated[bool, typer.Option("--raw-only", help="Download only: no dataset is made.")] = False,
    accept_licence: Annotated[
        bool, typer.Option("--accept-licence", help="Accept the terms of a dataset whose publisher asks for it.")
    ] = False,
    memory: Annotated[str, typer.Option(help="As for `preprocess`.")] = "4GB",
    partitions: Annotated[str, typer.Option(help="As for `preprocess`.")] = "auto",
    as_json: options.Json = False,
) -> None:
    """Download a published dataset and preprocess it, with its published splits. What was interrupted goes on."""
    from marius_lite.cli.output import show
    from marius_lite.fetch.fetch import FetchOptions, datasets
    from marius_lite.fetch.fetch import fetch as run
    from marius_lite.fetch.recipes import read_recipe

    if name is None:
        _list(datasets(), as_json)
        return
    recipe = read_recipe(name)
    folder = to if to is not None else Path(recipe.name)
    asked = recipe.licence.accept and not accept_licence
    accepted = accept_licence or (
        asked and _terminal() and typer.confirm(f"Accept the terms at {recipe.licence.url or recipe.home}?")
    )
    result = run(recipe, folder, FetchOptions(given, raw_only, accepted, memory, partitions))
    if as_json or raw_only:
        show(result, as_json)
        return
    counts = result["counts"]
    edges = ", ".join(f"{count:,} {split}" for split, count in counts["edges"].items() if split != "all")
    print(
        f"{folder / result['dataset']}: {counts['nodes']:,} nodes, {counted(counts['relations'], 'relation')}, edges {edges}; "
        "counts as published"
    )
    print(f"next: marius-lite train {folder / result['dataset']} --run run --config preset:{recipe.preset}")


def _list(recipes: list[Recipe], as_json: bool) -> None:
    """Print a line for each dataset."""
    import json

    from marius_lite.sizes import format_bytes

    rows: list[dict[str, Any]] = [
        {
            "name": each.name,
            "download": each.size,
            "nodes": each.counts.nodes or each.counts.nodes_at_most,
            "edges": each.counts.edges.get("all") or sum(each.counts.edges.values()) or None,
            "preset": each.preset,
            "licence": each.licence.name,
            "about": each.about,
            "tried": each.tried,
        }
        for each in recipes
    ]
    if as_json:
        print(json.dumps(rows))
        return
    width = max(len(row["name"]) for row in rows)
    print(f"{'name':<{width}}  {'download':>9}  {'nodes':>11}  {'edges':>13}  licence")
    for row in rows:
        size = format_bytes(row["download"]) if row["download"] else "unknown"
        nodes, edges = (f"{row[key]:,}" if row[key] else "unknown" for key in ("nodes", "edges"))
        print(f"{row['name']:<{width}}  {size:>9}  {nodes:>11}  {edges:>13}  {row['licence']}")
    untried = sum(not row["tried"] for row in rows)
    print(f"{untried} of these {len(rows)} recipes have never been run against the servers that they name (docs/datasets.md)")


def _terminal() -> bool:
    import sys

    return sys.stdin.isatty() and sys.stderr.isatty()
