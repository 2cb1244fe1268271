"""Trials that train nothing: a run's figure follows from its settings at once."""

import json
import os
import zlib


class Ended:
    """A process that has ended."""

    exitcode = 0

    def __init__(self):
        read, write = os.pipe()
        os.close(write)
        self.sentinel = read  # which is ready

    def is_alive(self):
        return False

    def terminate(self):
        pass

    def join(self):
        os.close(self.sentinel)


def figure(config):
    """A figure between 0 and 1, the better the nearer the learning rate is to 0.3; more epochs say more."""
    noise = zlib.crc32(config.model_dump_json().encode()) % 100 / 10_000
    return round(max(0.0, 1 - abs(config.optimizer.rows.lr - 0.3)) * 0.9 + noise * (config.training.epochs < 4), 6)


def start(job):
    """In place of `tune.trial.start`."""
    job.run.mkdir(parents=True, exist_ok=True)
    epochs = range(config_epochs(job))
    lines = [{"kind": "epoch", "epoch": epoch} for epoch in epochs]
    lines += [{"kind": "evaluation", "mrr": value} for value in (0.0, figure(job.config), 0.001)]
    (job.run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return Ended()


def config_epochs(job):
    return job.config.training.epochs
