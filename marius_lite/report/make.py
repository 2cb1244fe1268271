"""Make the report of runs: what the command `report` does."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from marius_lite import files
from marius_lite.config.planning import planning_of
from marius_lite.report.charts import require_matplotlib
from marius_lite.report.curves import machine, progress
from marius_lite.report.embedding_map import embedding_map
from marius_lite.report.page import page, text
from marius_lite.report.plan_picture import plan_of_run
from marius_lite.report.quality import quality
from marius_lite.report.settings import configuration, differences, environment
from marius_lite.report.subject import Subject, subjects_of
from marius_lite.report.summary import outcome

REPORT = "report.html"


def report_run(
    runs: Path | str | Sequence[Path | str],
    output: Path | str | None = None,
    dataset: Path | str | None = None,
    evaluate: bool = False,
) -> dict[str, Any]:
    """Write one HTML page about a run, or about several beside each other. It needs no other file and no network.

    ``output``: the page; by default report.html in the folder of the first run. One that exists is replaced. ``dataset``: where
    the runs' dataset is, if it was moved. ``evaluate``: whether what no evaluation says yet is found out, with the best
    checkpoint: figures of the whole test split (without one, of valid), kept in the run's eval/, and vectors of encoders. Memory
    does not grow with the length of the runs. Returns the page's path and its bytes. Raises UserError for a folder that is no
    run, or where matplotlib is missing; RunError where the disk fails.
    """
    require_matplotlib()
    if output is not None:
        files.require_folder_of(Path(output), "--output")
    paths = [Path(run) for run in ([runs] if isinstance(runs, Path | str) else runs)]
    subjects = subjects_of(paths, Path(dataset) if dataset is not None else None)
    if evaluate:
        for run in subjects:
            _evaluate(run)
    written = page(", ".join(run.name for run in subjects), _sections(subjects, evaluate)).encode()
    target = Path(output) if output is not None else paths[0] / REPORT
    files.write_atomic(target, written)
    return {"report": str(target), "bytes": len(written)}


def _evaluate(run: Subject) -> None:
    """Evaluate the whole test split, or else valid, unless that is done."""
    from marius_lite.checkpoint.find import find_to_read
    from marius_lite.tasks.evaluate_run import evaluate_run

    checkpoint = find_to_read(run.folder, None)
    if run.dataset is None or checkpoint is None:
        return
    items = {"edges": run.dataset.manifest.edges, "nodes": run.dataset.node_counts}[planning_of(run.config).unit]
    split = next((name for name in ("test", "valid") if items.get(name)), None)
    if split is None:
        return
    if not (run.folder.evaluations / f"{checkpoint.name}.{split}.all.json").exists():
        evaluate_run(run.folder.path, split, dataset=run.dataset.path)


def _sections(runs: Sequence[Subject], evaluate: bool) -> list[tuple[str, str]]:
    return [
        ("", outcome(runs)),
        ("What differs", differences(runs) if len(runs) > 1 else ""),
        ("Curves", progress(runs)),
        ("Speed and memory", machine(runs)),
        ("Plan", _each(runs, plan_of_run)),
        ("Quality", _each(runs, quality)),
        ("Map of the nodes", _each(runs, partial(embedding_map, compute=evaluate))),
        ("Configuration", _each(runs, configuration)),
        ("Environment", environment(runs)),
    ]


def _each(runs: Sequence[Subject], of: Any) -> str:
    """Return a part for each run, under its name where there are several."""
    parts = [(run.name, of(run)) for run in runs]
    return "".join((f"<h3>{text(name)}</h3>" if len(runs) > 1 else "") + part for name, part in parts if part)
