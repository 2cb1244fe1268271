"""Fetch a published dataset: download, unpack, convert, preprocess, count.

FOLDER/raw/                the files as they are published, each with a record of where it came from
FOLDER/raw/unpacked-*/     what preprocess reads of them, until the dataset is there
FOLDER/dataset/            the dataset
FOLDER/fetched.json        what was fetched: the recipe, its licence, counts, the preset that suits it
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marius_lite import files
from marius_lite.errors import RunError, UserError
from marius_lite.fetch.convert import convert
from marius_lite.fetch.download import download
from marius_lite.fetch.local import take
from marius_lite.fetch.recipe import FILE_OPTIONS, PublishedSection, Recipe
from marius_lite.fetch.recipes import names, read_recipe
from marius_lite.fetch.unpack import unpack
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.report import read_report
from marius_lite.log import log
from marius_lite.printable import printable

RAW, DATASET, RECORD = "raw", "dataset", "fetched.json"


@dataclass(frozen=True)
class FetchOptions:
    """``given``: a file, folder or archive in place of the download. ``raw_only``: stop once the files are there.
    ``accepted``: whether the user accepts the terms. ``memory``, ``partitions``: as for `preprocess`."""

    given: Path | None = None
    raw_only: bool = False
    accepted: bool = False
    memory: str = "4GB"
    partitions: str = "auto"


def fetch_dataset(
    name: str | Path,
    to: str | Path | None = None,
    *,
    source: str | Path | None = None,
    raw_only: bool = False,
    accept_licence: bool = False,
    memory: str = "4GB",
    partitions: str = "auto",
) -> dict[str, Any]:
    """Fetch a published dataset into the folder ``to`` (its name, where none is given). Returns what `fetched.json` says.

    ``name``: of a recipe, or the YAML file of one. ``source``: a file, folder or archive of this machine in place of the download
    (``--from``). The others are the options of `marius-lite fetch`. What is there already is not fetched again. Raises UserError
    for wrong input, RunError where no server gives a file or counts are not the published ones.
    """
    recipe = read_recipe(name)
    options = FetchOptions(Path(source) if source is not None else None, raw_only, accept_licence, memory, partitions)
    return fetch(recipe, Path(to) if to is not None else Path(recipe.name), options)


def datasets() -> list[Recipe]:
    """Return the recipes that come with the package, by name."""
    return [read_recipe(name) for name in names()]


def fetch(recipe: Recipe, folder: Path, options: FetchOptions) -> dict[str, Any]:
    """Fetch the dataset of a recipe into ``folder``. See `fetch_dataset`."""
    licence = recipe.licence
    log.info(printable(f"{recipe.name}: licence: {licence.name}{f' ({licence.url})' if licence.url else ''}"))
    if licence.accept and not options.accepted:
        raise UserError(
            f"{recipe.name}: its terms must be accepted: read {licence.url or recipe.home}, then give --accept-licence"
        )
    raw = folder / RAW
    files.make_folder(raw)
    with files.lock(folder / ".lock"):
        if (folder / DATASET).exists() and not options.raw_only:
            _tell_of_another_recipe(recipe, folder)
            return _finished(recipe, folder)
        sources = take(recipe, options.given, raw) if options.given else [download(file, raw) for file in recipe.files]
        if options.raw_only:
            return {"raw": str(raw), "files": [path.name for path in sources]}
        ready = raw / f"unpacked-{_digest(recipe, sources)}"
        _prepare(recipe, raw, ready)
        _preprocess(recipe, ready, folder / DATASET, options)
        result = _finished(recipe, folder)
        files.remove_tree(ready)
        return result


def _tell_of_another_recipe(recipe: Recipe, folder: Path) -> None:
    """Warn where the dataset was made in another way than the recipe says now."""
    try:
        made_by, now = files.read_json(folder / RECORD)["recipe"], recipe.model_dump(mode="json")
        changed = [key for key in ("unpack", "convert", "preprocess") if made_by.get(key) != now[key]]
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return  # it was not finished, and is compared with what is published
    if changed:
        log.warning(
            printable(
                f"{folder / DATASET}: was made by another version of this recipe, with another {' and '.join(changed)}: "
                "remove it to make it again; what was downloaded stays"
            )
        )


def _digest(recipe: Recipe, sources: list[Path]) -> str:
    """Return what tells unpacked files from those of another download: a hash of the recipe, and of sizes and times."""
    facts = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in sources]
    return hashlib.sha256(f"{recipe.model_dump_json()}{facts}".encode()).hexdigest()[:12]


def _prepare(recipe: Recipe, raw: Path, ready: Path) -> None:
    """Unpack and convert what `preprocess` reads. What is done already stays."""
    for other in raw.glob("unpacked-*"):
        if other != ready:
            files.remove_tree(other)
    files.make_folder(ready)
    for archive, members in recipe.unpack.items():
        unpack(raw / archive, members, ready)
    for conversion in recipe.convert:
        convert(conversion, [_place(name, raw, ready) for name in conversion.sources], ready / conversion.to)


def _place(name: str, raw: Path, ready: Path) -> Path:
    return ready / name if (ready / name).exists() else raw / name


def _preprocess(recipe: Recipe, ready: Path, output: Path, options: FetchOptions) -> None:
    from marius_lite.preprocess import Options, preprocess

    given: dict[str, Any] = dict(recipe.preprocess)
    for option in FILE_OPTIONS:
        if option in given:
            each = given[option]
            places = [str(_place_of_input(str(name), ready)) for name in (each if isinstance(each, list) else [each])]
            given[option] = places if option in ("edges", "valid", "test") else places[0]
    try:
        parsed = Options.parse(**given, output=output, memory=options.memory, partitions=options.partitions)
    except TypeError as error:
        raise UserError(f"recipe {recipe.name}: `preprocess`: {error}") from None
    preprocess(parsed)


def _place_of_input(name: str, ready: Path) -> Path:
    """Return where an input is, which may be FILE.npz:KEY: unpacked, or as it was downloaded."""
    file = name.partition(":")[0]
    return (ready if (ready / file).exists() else ready.parent) / name


def _finished(recipe: Recipe, folder: Path) -> dict[str, Any]:
    """Compare the dataset's counts with the published ones, and write the record. Raises RunError where they differ."""
    dataset = Dataset.open(folder / DATASET)
    found = _counts(dataset)
    if wrong := differences(recipe.counts, found):
        raise RunError(
            f"{folder / DATASET}: {'; '.join(wrong)}: the files are others than the recipe is for, or damaged: "
            f"remove {folder} and fetch it again"
        )
    record = {
        "name": recipe.name,
        "about": recipe.about,
        "home": recipe.home,
        "licence": recipe.licence.name,
        "dataset": DATASET,
        "preset": recipe.preset,
        "counts": found,
        "recipe": recipe.model_dump(mode="json"),
    }
    files.write_atomic(folder / RECORD, json.dumps(record, indent=1).encode())
    return record


def _counts(dataset: Dataset) -> dict[str, Any]:
    manifest, report = dataset.manifest, read_report(dataset.path)
    return {
        "nodes": manifest.nodes,
        "relations": manifest.relations,
        "edges": {**manifest.edges, "all": report.get("rows_read")},
        "labelled": dataset.node_counts,
        "classes": manifest.labels.classes if manifest.labels else None,
        "features": manifest.features.width if manifest.features else None,
    }


def differences(expected: PublishedSection, found: Mapping[str, Any]) -> list[str]:
    """Return a line for each count that is not the published one."""
    lines = [
        f"{found[key]} {key} where {value} are published"
        for key in ("nodes", "relations", "classes", "features")
        if (value := getattr(expected, key)) is not None and found[key] != value
    ]
    if expected.nodes_at_most is not None and found["nodes"] > expected.nodes_at_most:
        lines.append(f"{found['nodes']} nodes where at most {expected.nodes_at_most} are published")
    for kind, published in (("edges", expected.edges), ("labelled", expected.labelled)):
        what = "edges" if kind == "edges" else "labelled nodes"
        lines += [
            f"{found[kind].get(split)} {what} ({split}) where {value} are published"
            for split, value in published.items()
            if found[kind].get(split) != value
        ]
    return lines
