"""The parts of a run as `train` builds them, without training."""

from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.config.load import load
from marius_lite.graph.dataset import Dataset
from marius_lite.metrics import MetricsLog
from marius_lite.rows.table import create_table
from marius_lite.tasks.resolved import resolved
from marius_lite.train.build import build, first_model
from marius_lite.train.stages import TrainingStage

LINKS = [
    "model.dim=8",
    "training.threads=1",
    "training.batch_size=200",
    "training.epochs=2",
    "negatives.count=20",
    "negatives.chunks=1",
    "storage.capacity=2",
]
ENCODER = ["model.encoder=sage", "sampling.fanouts=[4]", "model.inputs=both"]
CLASSES = [
    "task=node_classification",
    "model.encoder=sage",
    "model.layers=[16]",
    "sampling.fanouts=[5,5]",
    "training.threads=1",
    "training.batch_size=40",
    "training.epochs=2",
    "optimizer.dense.name=adam",
    "optimizer.dense.lr=0.02",
]


@contextmanager
def open_parts(dataset, *sets):
    """The `Parts` of a new run over a dataset, in a folder of its own; its learned rows are not made yet."""
    data = Dataset.open(dataset)
    config, memory = resolved(data, load(sets=sets))
    with TemporaryDirectory() as folder, ExitStack() as stack:
        run = RunFolder(Path(folder))
        table = create_table(run.live, data, config)
        metrics = MetricsLog(run.metrics_file, 0)
        stack.callback(metrics.close)
        stage = TrainingStage(data, config, first_model(data, config), config.training.epochs)
        parts = build(run, stage, memory, metrics, table)
        stack.callback(parts.close)
        yield parts
