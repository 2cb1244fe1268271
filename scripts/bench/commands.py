"""What benchmarks start as processes of their own: commands of marius-lite, and the scripts that make graphs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

DATA_PREP = Path(__file__).parents[2] / "data_prep"


def words(*arguments: object) -> list[str]:
    """The words that start a command."""
    return [sys.executable, "-m", "marius_lite", *map(str, arguments)]


def result_of(*arguments: object) -> dict[str, Any]:
    """What a command tells as JSON."""
    done = subprocess.run(words(*arguments, "--json"), check=True, stdout=subprocess.PIPE, text=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def options(**given: object) -> list[str]:
    """The words of options with these values."""
    return [word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", str(value))]


def make_graph(script: str, folder: Path, **given: object) -> None:
    """Make a graph by a script of data_prep, with these options."""
    command = [sys.executable, str(DATA_PREP / script), str(folder), *options(**given)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
