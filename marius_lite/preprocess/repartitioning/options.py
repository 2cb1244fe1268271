"""The options of `repartition`, checked before anything is written."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import marius_lite
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.preprocess.disk.place import recover_output
from marius_lite.preprocess.option_texts import parse_memory, parse_partitions


@dataclass(frozen=True)
class RepartitionOptions:
    """``dataset`` is made again in folder ``output`` with so many ``partitions``. ``memory`` in bytes."""

    dataset: Dataset
    output: Path
    partitions: int
    memory: int
    overwrite: bool

    @classmethod
    def parse(
        cls, dataset: str | Path, output: str | Path, partitions: str | int, memory: str | int = "4GB", overwrite: bool = False
    ) -> RepartitionOptions:
        """Return the options that the command line gives as texts. Raises UserError."""
        number = parse_partitions(partitions)
        if number is None:
            raise UserError("--partitions auto: must be a whole number from 1 to 1024")
        place = Path(output).absolute()
        recover_output(place)  # it may be the dataset itself
        old = Dataset.open(dataset)
        old.checked.need_all()
        return cls(old, place, number, parse_memory(memory), overwrite)

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(self.dataset.manifest.edges)

    @property
    def digest(self) -> str:
        """A checksum that tells one command from another."""
        source = (str(self.dataset.path.resolve()), self.dataset.fingerprint)
        asked = (marius_lite.__version__, "repartition", source, str(self.output), self.partitions)
        return hashlib.sha256(repr(asked).encode()).hexdigest()
