"""Train graph embeddings and graph neural networks larger than memory, on one machine.

The functions do what the commands do; importing the package loads neither torch nor numpy. Import it before torch: then torch's
threads sleep while they wait (see `marius_lite.waiting`).
"""

from __future__ import annotations

from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from marius_lite.waiting import let_threads_sleep

__version__ = "0.1.0"

let_threads_sleep()

_PUBLIC = {  # public name -> module and name there
    "fetch_dataset": "fetch.fetch:fetch_dataset",
    "make_dataset": "preprocess.make:make_dataset",
    "repartition_dataset": "preprocess.repartition:repartition_dataset",
    "update_dataset": "preprocess.update:update_dataset",
    "open_dataset": "graph.dataset:Dataset.open",
    "load_config": "config.load:load",
    "plan_run": "estimate:plan_run",
    "train_run": "train.run:train_run",
    "resume_run": "train.run:resume_run",
    "tune_dataset": "tune.search:tune_dataset",
    "evaluate_run": "tasks.evaluate_run:evaluate_run",
    "predict_links": "predict.links:predict_links",
    "stream_links": "predict.links:stream_links",
    "predict_nodes": "predict.nodes:predict_nodes",
    "upload_dataset": "graph.upload:upload_dataset",
    "index_run": "search.build:index_run",
    "open_search": "search.session:open_search",
    "export_run": "export.run:export_run",
    "report_run": "report.make:report_run",
    "write_trace": "report.trace:write_trace",
    "UserError": "errors:UserError",
    "RunError": "errors:RunError",
}
__all__ = [*_PUBLIC]

if TYPE_CHECKING:
    from marius_lite.config import load as _load
    from marius_lite.errors import RunError as RunError
    from marius_lite.errors import UserError as UserError
    from marius_lite.estimate import plan_run as plan_run
    from marius_lite.export.run import export_run as export_run
    from marius_lite.fetch.fetch import fetch_dataset as fetch_dataset
    from marius_lite.graph.dataset import Dataset
    from marius_lite.graph.upload import upload_dataset as upload_dataset
    from marius_lite.predict.links import predict_links as predict_links
    from marius_lite.predict.links import stream_links as stream_links
    from marius_lite.predict.nodes import predict_nodes as predict_nodes
    from marius_lite.preprocess.make import make_dataset as make_dataset
    from marius_lite.preprocess.repartition import repartition_dataset as repartition_dataset
    from marius_lite.preprocess.update import update_dataset as update_dataset
    from marius_lite.report.make import report_run as report_run
    from marius_lite.report.trace import write_trace as write_trace
    from marius_lite.search.build import index_run as index_run
    from marius_lite.search.session import open_search as open_search
    from marius_lite.tasks.evaluate_run import evaluate_run as evaluate_run
    from marius_lite.train.run import resume_run as resume_run
    from marius_lite.train.run import train_run as train_run
    from marius_lite.tune.search import tune_dataset as tune_dataset

    open_dataset = Dataset.open
    load_config = _load.load


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'marius_lite' has no attribute {name!r}")
    module, path = _PUBLIC[name].split(":")
    return attrgetter(path)(import_module(f"marius_lite.{module}"))


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
