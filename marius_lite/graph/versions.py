"""The versions of a dataset. The folder itself holds version 1; `update` puts each later one into ``versions/<number>``.

A version is a whole dataset, which shares unchanged files with others by hard links. It comes into its place by one rename. So
the newest version is the one with the highest number, and nothing else says which it is.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from marius_lite.errors import UserError
from marius_lite.graph.manifest import attributes, read_manifest

VERSIONS = "versions"
NUMBER = re.compile(r"[1-9][0-9]{0,8}")
NAMED = re.compile(rf"(.+)@({NUMBER.pattern})")


def versions(dataset: Path) -> dict[int, Path]:
    """Return the folders of a dataset's versions by number, ascending. The first is the dataset's own folder."""
    folder = dataset / VERSIONS
    later = (path for path in folder.iterdir() if NUMBER.fullmatch(path.name)) if folder.is_dir() else ()
    return {1: dataset, **{int(path.name): path for path in sorted(later, key=lambda path: int(path.name))}}


def dataset_of(version: Path) -> Path:
    """Return the dataset that a version's folder belongs to: the folder itself where it is no later version of another."""
    inside = version.parent.name == VERSIONS and NUMBER.fullmatch(version.name)
    return version.parent.parent if inside else version


def pinned(version: Path) -> Path:
    """Return a path that still leads to this version, given its folder, when `update` has made a newer one meanwhile."""
    return version / "@1" if dataset_of(version) == version else version


def version_folder(path: Path, fingerprint: str | None = None) -> Path:
    """Return the folder of the version that ``path`` names: the newest of a dataset's folder, version N of ``DIR@N``. With a
    ``fingerprint`` the version that has it, if there is one. Raises UserError for a version that does not exist."""
    named = None if path.exists() else NAMED.fullmatch(str(path))
    there = versions(Path(named[1]) if named else path)
    if named:
        number = int(named[2])
        if number not in there or not there[1].is_dir():
            raise UserError(f"{path}: no version {number}: there are {', '.join(map(str, there))}")
        return there[number]
    for folder in there.values() if fingerprint is not None and len(there) > 1 else ():
        if (attributes(folder) or {}).get("fingerprint") == fingerprint:
            return folder
    return there[max(there)]


def describe_versions(version: Path) -> dict[str, Any]:
    """Return for `info` which version this is, and what each version has; nothing where there is only one."""
    there = versions(dataset_of(version.resolve()))
    if len(there) == 1:
        return {}
    number = next(number for number, folder in there.items() if folder.resolve() == version.resolve())
    manifests = {name: read_manifest(folder) for name, folder in there.items()}
    return {
        "version": number,
        "versions": {
            str(name): {"nodes": each.nodes, "edges": each.edges, "fingerprint": each.fingerprint[:12]}
            for name, each in manifests.items()
        },
    }
