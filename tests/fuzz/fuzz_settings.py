"""Options and YAML: values that do not fit where they stand."""

import json
from collections.abc import Callable
from pathlib import Path
from random import Random

from fuzz_damage import NUMBERS, TOKENS, damaged
from fuzz_judge import Command

from marius_lite.config.describe import keys
from marius_lite.config.schema import Config

KEYS = [key for key, _ in keys(Config)]
VALUES = [
    "auto",
    "none",
    "true",
    "null",
    "[]",
    "[1, 2]",
    "{}",
    "{a: 1}",
    "{1: 2, default: 3}",
    "1e-320",
    "1e308",
    ".inf",
    ".nan",
    "2001-99-99",
    "0x" + "f" * 5000,
    "[" * 3000,
    "&a [*a]",
    "&a {b: *a}",
    "!!int ''",
    "!!bool x",
    "!!timestamp x",
    "=",
    "!!python/name:os.system",
    "1GB",
    "1e999GB",
    "-1MB",
    "sage",
    "os:system",
    "no.such:Thing",
    "'\\ud800'",
    '"\\e[31m"',
    "cuda:0",
    "cuda:99",
    "0.5",
    "1.5",
    "0.1,0.2",
    "12:30:45",
    "0o17",
    "~",
    "zero_copy",
    "in_memory",
    "comet",
    "rotate",
    "*x",
    "<<: 1",
    "? [a, b] : c",
    "- 1\n- 2",
]


def settings(rng: Random, folder: Path) -> list[Command]:
    """Configurations for `plan`; nothing is trained."""
    arguments = ["plan", "links", "--json"]
    for _ in range(rng.choice((1, 1, 2, 3))):
        key = rng.choice(KEYS) if rng.random() < 0.9 else _text(rng)
        arguments += ["--set", f"{key}={_value(rng)}"]
    if rng.random() < 0.4:
        tree = {"model": {"dim": 8, "decoder": "distmult"}, "storage": {"capacity": 2, "memory": "64MB"}}
        text = b"model:\n  dim: 8\ntraining: {epochs: 3}\nsampling:\n  fanouts: [1, 2]\n"
        data = json.dumps(tree).encode() if rng.random() < 0.5 else text
        (folder / "c.yaml").write_bytes(damaged(rng, data, tokens=True))
        arguments += ["--config", "c.yaml"]
    return [Command(arguments)]


def options(rng: Random, folder: Path) -> list[Command]:
    """Values of the commands' options; the files are good."""
    (folder / "e.tsv").write_text("a\tb\nb\tc\nc\ta\n")
    given = {"preprocess": ["e.tsv", "--output", "d"], "repartition": ["links", "--output", "d", "--partitions", "2"]}
    known = {
        "preprocess": [
            "--split",
            "--format",
            "--ids",
            "--columns",
            "--edge-weight",
            "--timestamp",
            "--features",
            "--labels",
            "--node-ids",
            "--node-types",
            "--train-nodes",
            "--node-split",
            "--delimiter",
            "--header",
            "--comment",
            "--partitions",
            "--memory",
            "--seed",
            "--adjacency",
            "--on-bad-row",
            "--output",
            "--valid",
        ],
        "repartition": ["--partitions", "--memory", "--output"],
    }
    command = rng.choice(("preprocess", "preprocess", "preprocess", "repartition"))
    arguments = [command, *given[command]]
    for _ in range(rng.choice((1, 1, 2))):
        arguments += [rng.choice(known[command]), _value(rng)]
    if rng.random() < 0.1:
        arguments.insert(1, _text(rng))
    return [Command(arguments, makes=arguments[arguments.index("--output") + 1] if arguments.count("--output") == 1 else None)]


def _value(rng: Random) -> str:
    return rng.choice((rng.choice(VALUES), str(rng.choice(NUMBERS)), _text(rng), "e.tsv"))


def _text(rng: Random) -> str:
    """A token as an argument may be: no NUL, not endless."""
    return rng.choice(TOKENS)[:100_000].replace(b"\0", b"0").decode("utf-8", "surrogateescape")


AREAS: dict[str, Callable[[Random, Path], list[Command]]] = {"settings": settings, "options": options}
