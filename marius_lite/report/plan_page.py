"""Write the page of a plan, before anything runs: what `plan --html` does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from marius_lite import files
from marius_lite.config.load import check
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.plans import plans_of
from marius_lite.report.charts import require_matplotlib
from marius_lite.report.page import page, paragraph, table
from marius_lite.report.plan_picture import planned
from marius_lite.sizes import format_bytes

COUNTS = ("slots", "spare", "swaps", "window_edges", "kept_edges")
"""What a plan says that is no number of bytes."""


def write_plan(dataset: Path | str, plan: Mapping[str, Any], output: Path | str) -> None:
    """Write one HTML page about a plan, with a picture of the first epoch. ``plan``: what `estimate.plan_run` returned.

    A page that exists is replaced. Raises UserError where matplotlib is missing; RunError where the disk fails.
    """
    require_matplotlib()
    data, config = Dataset.open(Path(dataset)), check(plan["config"], "configuration of the plan")
    names = ("nodes", "edges", "relations", "partitions", "capacity", "ordering", "steps", "swaps", "batches", "device")
    moved = [[name.replace("_", " "), *_sizes(plan[name]).values()] for name in ("first_epoch", "later_epoch")]
    sections = [
        ("", table(["", ""], [[name, plan[name]] for name in names if name in plan]) + "".join(map(paragraph, plan["remarks"]))),
        ("Plan", planned(plans_of(data, config)(0), config, data).html()),
        ("Memory", table(["", ""], list(_sizes(plan["memory"]).items()))),
        ("Memory of the device", table(["", ""], list(_sizes(plan["device_memory"]).items()))),
        ("Disk", table(["", ""], list(_sizes(plan["disk"]).items()))),
        ("Moved", table(["", *(key.replace("_", " ") for key in plan["first_epoch"])], moved)),
    ]
    files.write_atomic(Path(output), page(f"Plan for {data.path.resolve().name}", sections).encode())


def _sizes(counts: Mapping[str, int]) -> dict[str, Any]:
    """Return bytes as text; what is counted stays a number."""
    return {
        key.replace("_", " "): value if key in COUNTS or isinstance(value, bool) else format_bytes(value)
        for key, value in counts.items()
        if isinstance(value, int)
    }
