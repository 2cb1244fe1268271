"""Raw edge lists to a partitioned dataset on disk. Each name here is loaded when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_PUBLIC = {"Options": "options", "make_dataset": "make", "preprocess": "build", "repartition_dataset": "repartition"}
__all__ = ["Options", "make_dataset", "preprocess", "repartition_dataset"]

if TYPE_CHECKING:
    from marius_lite.preprocess.build import preprocess
    from marius_lite.preprocess.make import make_dataset
    from marius_lite.preprocess.options import Options
    from marius_lite.preprocess.repartition import repartition_dataset


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'marius_lite.preprocess' has no attribute {name!r}")
    return getattr(import_module(f"marius_lite.preprocess.{_PUBLIC[name]}"), name)
