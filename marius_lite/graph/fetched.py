"""Datasets in object storage: which version an address means, and where its files are kept on this machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from marius_lite.errors import UserError
from marius_lite.graph.manifest import parse_manifest
from marius_lite.graph.versions import NUMBER, VERSIONS
from marius_lite.remote.address import BucketAddress, address_of
from marius_lite.remote.dataset import MOST_ROOT, ROOT, folder_of
from marius_lite.remote.failures import Damaged
from marius_lite.remote.store import ObjectStore

NAMED = re.compile(rf"(.+)@({NUMBER.pattern})")


def brought_here(path: Path, fingerprint: str | None = None) -> Path:
    """Return the folder of this machine for the dataset, and the version of it, that an address means. Other paths stay as they
    are. With a ``fingerprint`` it is the version that has it, if there is one.

    The folder has the manifest; other files are fetched when they are needed. Raises UserError where there is no dataset.
    """
    address = address_of(path)
    if address is None:
        return path
    if named := NAMED.fullmatch(address.prefix):
        dataset, number = BucketAddress(address.scheme, address.bucket, named[1]), int(named[2])
        there = dataset.below(f"{VERSIONS}/{number}") if number > 1 else dataset
        root = _root(there)
        if root is None:
            raise UserError(f"{address}: no version {number} is there")
        return folder_of(there, *root)
    found: tuple[BucketAddress, tuple[str, bytes]] | None = None
    for found in _all_versions(address):
        if found[1][0] == fingerprint:
            break
    if found is None:
        raise UserError(f"{address}: no dataset is there: `marius-lite upload DATASET {address}` puts one there")
    return folder_of(found[0], *found[1])


def _all_versions(dataset: BucketAddress) -> Iterator[tuple[BucketAddress, tuple[str, bytes]]]:
    """Yield the versions that are there, in order, each with its (fingerprint, manifest). None is looked for behind a gap."""
    number, address = 1, dataset
    while (root := _root(address)) is not None:
        yield address, root
        number += 1
        address = dataset.below(f"{VERSIONS}/{number}")


def _root(address: BucketAddress) -> tuple[str, bytes] | None:
    """Return (fingerprint, text) of the manifest at an address; None where there is none."""
    store = ObjectStore(address)
    found = store.get(ROOT, MOST_ROOT, _check)
    return None if found is None else (parse_manifest(found[0], store.where(ROOT)).fingerprint, found[0])


def _check(data: bytes) -> None:
    try:
        parse_manifest(data, "")
    except UserError as error:
        raise Damaged(str(error)) from None
