"""A query in the place of a file, and what tells whether its result may have changed."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from marius_lite.preprocess.databases.address import Address, hide_secrets

BEGINNING = re.compile(r"\s*(select|with)\s", re.IGNORECASE)
UNNAMABLE, MOST_SHOWN = re.compile(r"[/\0]+"), 80  # what no file's name may have


@dataclass(frozen=True)
class Query:
    """A query, and the database it is for."""

    text: str
    address: Address

    @property
    def shown(self) -> str:
        """The beginning of the text, as it can stand in the name of a file."""
        return UNNAMABLE.sub(" ", hide_secrets(" ".join(self.text.split())))[:MOST_SHOWN].strip()

    @property
    def in_file(self) -> bool:
        """Whether the database is a file, which shows when it was changed."""
        return self.address.scheme != "postgresql"

    def identity(self) -> str:
        """Return a checksum of who asks whom what, and of the state of a database that is a file."""
        places = [Path(f"{self.address.path}{ending}") for ending in ("", "-wal", ".wal") if self.in_file]
        states = [place.stat() for place in places if place.exists()]
        facts = [(state.st_size, state.st_ino, state.st_mtime_ns, state.st_ctime_ns) for state in states]
        return hashlib.sha256(repr((self.address.shown, self.address.user, self.text, facts)).encode()).hexdigest()


def is_query(text: str) -> bool:
    """Whether what stands in the place of a file's name is a query."""
    return BEGINNING.match(text) is not None
