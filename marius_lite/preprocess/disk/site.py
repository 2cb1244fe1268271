"""Where a dataset is made: what every pass needs to know."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from marius_lite.preprocess.disk.passes import Passes
from marius_lite.preprocess.disk.place import WORK
from marius_lite.preprocess.options import Options

Asked = TypeVar("Asked")


@dataclass(frozen=True)
class SiteOf(Generic[Asked]):
    """The dataset of ``options`` is made in folder ``root`` by so many ``threads``. ``passes``: those that are finished."""

    options: Asked
    root: Path
    passes: Passes
    threads: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))

    @property
    def work(self) -> Path:
        """The folder for what is needed on the way."""
        return self.root / WORK


class Site(SiteOf[Options]):
    """Where `preprocess` works."""
