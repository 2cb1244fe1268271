"""The command `marius-lite train`."""

from __future__ import annotations

from marius_lite.cli import options


def train(
    dataset: options.Dataset,
    run: options.NewRun,
    config: options.ConfigFile = None,
    sets: options.Sets = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    allow_code: options.AllowCode = False,
) -> None:
    """Train a model on a dataset, from the first epoch to the last, with checkpoints on the way."""
    from marius_lite.cli.output import show
    from marius_lite.graph.dataset import Dataset
    from marius_lite.graph.defaults import config_for
    from marius_lite.train.run import train_run

    show(train_run(dataset, run, config_for(Dataset.open(dataset), config, sets or [])), as_json)
