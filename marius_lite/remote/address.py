"""Addresses in object storage, and where their files lie on this machine meanwhile."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from marius_lite.errors import UserError
from marius_lite.printable import printable

SCHEMES = ("s3", "gs", "az")
CACHE = "MARIUS_LITE_CACHE"
"""The folder of what is fetched, in the environment."""
GIVEN = re.compile(rf"({'|'.join(SCHEMES)}):/{{1,2}}(?!/)(.*)", re.DOTALL)  # pathlib makes one slash of two
VERSIONED = re.compile(r"[^@]*(@[0-9]+)?")
BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,62}")
MOST_KEY = 1024
"""Bytes of the longest key that object storage takes."""
NAMED_LATER = 100
"""Bytes of a key that are left for what stands below an address."""


@dataclass(frozen=True)
class BucketAddress:
    """A place in object storage: ``scheme://bucket/prefix``. It never holds credentials."""

    scheme: str
    bucket: str
    prefix: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}/{self.prefix}"

    def below(self, name: str) -> BucketAddress:
        """Return the address of ``name`` below this one."""
        return BucketAddress(self.scheme, self.bucket, f"{self.prefix}/{name}")

    @property
    def place(self) -> Path:
        """The folder, on this machine, of all that is kept of this address."""
        last = re.sub(r"[^A-Za-z0-9._-]", "_", self.prefix.rpartition("/")[2])[:40].lstrip(".") or "_"
        return cache_folder() / f"{last}-{hashlib.sha256(str(self).encode()).hexdigest()[:16]}"


def address_of(path: Path | str) -> BucketAddress | None:
    """Return the address that a path or text means; None for what lies on this machine.

    Raises UserError for an address of no bucket or no name in it, with credentials, or with ``..`` or unprintable characters.
    """
    text = str(path)
    found = GIVEN.fullmatch(text)
    if found is None:
        return None
    scheme, rest = found.groups()
    if ":" in rest or not VERSIONED.fullmatch(rest):  # they would be seen in the list of processes; they are not repeated here
        raise UserError(
            f"{scheme}://...: an address holds no credentials, no `:` and no `@`: programs take credentials from the environment"
        )
    bucket, _, prefix = rest.partition("/")
    parts = prefix.rstrip("/").split("/")
    sound = printable(prefix) == prefix and all(part not in ("", ".", "..") for part in parts) and "?" not in rest
    if not BUCKET.fullmatch(bucket) or not sound or len(prefix.encode("utf-8", "replace")) > MOST_KEY - NAMED_LATER:
        raise UserError(
            f"{printable(f'{scheme}://{rest}')}: no address: give it as {scheme}://bucket/name, without `..` and `?`; a bucket's "
            "name has 3 to 63 characters"
        )
    return BucketAddress(scheme, bucket, "/".join(parts))


def cache_folder() -> Path:
    """Return the folder of what is fetched, as the environment says, or the usual one."""
    if given := os.environ.get(CACHE):
        return Path(given).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "marius_lite"
