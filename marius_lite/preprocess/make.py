"""`preprocess` as a function."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from marius_lite.graph.dataset import Dataset
from marius_lite.preprocess.build import preprocess
from marius_lite.preprocess.options import Options


def make_dataset(edges: str | Path | Sequence[str | Path], output: str | Path, **options: Any) -> Dataset:
    """Make a dataset, as `marius-lite preprocess` does. ``options`` are the command's, as texts or values.

    ``edges``, ``valid``, ``test``: a file or pattern, or several. Raises UserError or RunError.
    """
    for name in ("valid", "test"):
        if name in options:
            options[name] = _several(options[name])
    preprocess(Options.parse(edges=_several(edges), output=output, **options))
    return Dataset.open(output)


def _several(files: str | Path | Sequence[str | Path]) -> list[str]:
    return [str(file) for file in ([files] if isinstance(files, str | Path) else files)]
