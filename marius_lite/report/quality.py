"""Show how good a model is where: by relation, degree and side of links; by class of nodes. It reads a run's evaluations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from marius_lite import files
from marius_lite.printable import printable
from marius_lite.report.charts import INK, SERIES, SMALL, chart
from marius_lite.report.page import details, grid, paragraph, table
from marius_lite.report.subject import Subject

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME = re.compile(r"(\d+)\.(\d+)\.(\d+)\.(test|valid|train)(\.all)?\.json")
MOST_BARS, MOST_ROWS, MOST_CLASSES = 20, 300, 20
LETTERS = 26
"""Characters of a name in a chart."""
Figures = Mapping[str, Mapping[str, Any]]


def quality(run: Subject) -> str:
    """Return what the last evaluation of each split says: of a whole split, where `eval` made one, else of training's."""
    shown = "".join(_evaluation(result, whole) for result, whole in _latest(run))
    missing = "Not evaluated. `marius-lite report --evaluate`, or `marius-lite eval`, does that."
    return shown or paragraph(missing)


def _latest(run: Subject) -> list[tuple[dict[str, Any], bool]]:
    """Return the latest evaluation of each split, and whether it is of the whole split."""
    found: dict[str, tuple[tuple[bool, list[int]], Any]] = {}
    for path in run.folder.evaluations.glob("*.json"):
        if match := NAME.fullmatch(path.name):
            order = match[5] is not None, [int(part) for part in match.groups()[:3]]
            if match[4] not in found or found[match[4]][0] < order:
                found[match[4]] = order, path
    read = []
    for split in sorted(found, key=["test", "valid", "train"].index):
        (whole, cursor), path = found[split]
        try:
            result = files.read_json(path)
        except (OSError, ValueError):
            continue
        if isinstance(result, dict):
            read.append(({"checkpoint": ".".join(map(str, cursor)), **result}, whole))
    return read


def _evaluation(result: Mapping[str, Any], whole: bool) -> str:
    sampled = "" if whole else ", as evaluated while training (a sample, where evaluation.max_edges says so)"
    said = f"{result['split']}: {result['count']:,} in checkpoint {result['checkpoint']}{sampled}"
    parts = _links(result) if "per_relation" in result else _classes(result)
    return paragraph(said) + parts


def _links(result: Mapping[str, Any]) -> str:
    names = ("mrr", "hits@1", "hits@3", "hits@10", "mean_rank", "count")
    sides = {"both": result, **{f"{side} asked for": figures for side, figures in result["per_side"].items()}}
    relations = sorted(result["per_relation"].items(), key=lambda item: -item[1]["count"])
    degrees = result.get("per_degree", {})
    charts = [
        _bars(dict(relations[:MOST_BARS]), "mrr", f"MRR by relation: the {min(MOST_BARS, len(relations))} with most edges"),
        _bars(degrees, "mrr", "MRR by the true answer's degree in training"),
    ]
    head = ("mrr", "destination_mrr", "source_mrr", "hits@10", "count")
    said = "All relations" if len(relations) <= MOST_ROWS else f"The {MOST_ROWS} relations with most edges, of {len(relations):,}"
    no_degrees = "" if degrees else paragraph("By degree: only `marius-lite eval` and `report --evaluate` tell that.")
    return (
        _table("side", sides, names)
        + grid(charts)
        + no_degrees
        + _table("degree", degrees, ("mrr", "hits@10", "count"))
        + details(said, _table("relation", dict(relations[:MOST_ROWS]), head))
    )


def _classes(result: Mapping[str, Any]) -> str:
    confusion = result.get("confusion", [])
    names = [str(name) for name in result.get("class_names", range(len(confusion)))]
    each = result.get("per_class") or _of_confusion(confusion, names)
    most = sorted(each, key=lambda name: -each[name]["count"])
    main = {
        name: {key: result.get(key) for key in ("accuracy", "macro_f1", "micro_f1", "roc_auc", "log_loss")} for name in ("all",)
    }
    shown = [at for at in range(len(confusion)) if names[at] in set(most[:MOST_CLASSES])]
    counts = [[confusion[row][column] for column in shown] for row in shown]
    charts = [
        _bars(
            {name: each[name] for name in most[:MOST_BARS]}, "f1", f"F1 by class: the {min(MOST_BARS, len(most))} with most nodes"
        ),
        _confusion(counts, [names[at] for at in shown], len(names)) if shown else "",
    ]
    columns = (
        tuple(key for key in ("f1", "precision", "recall", "roc_auc", "average_precision", "count") if key in each[most[0]])
        if most
        else ()
    )
    return (
        _table("nodes", main, ("accuracy", "macro_f1", "micro_f1", "roc_auc", "log_loss"))
        + grid(charts)
        + _table("class", {name: each[name] for name in most[:MOST_ROWS]}, columns)
    )


def _of_confusion(confusion: Sequence[Sequence[int]], names: Sequence[str]) -> Figures:
    """Return the figures by class of evaluations that have only the matrix."""
    columns = [sum(column) for column in zip(*confusion)]
    found = {}
    for at, row in enumerate(confusion):
        if sum(row) + columns[at]:
            found[names[at]] = {"f1": 2 * row[at] / (sum(row) + columns[at]), "count": sum(row)}
    return found


def _table(what: str, figures: Figures, columns: Sequence[str]) -> str:
    return table([what, *columns], [[name, *(each.get(key) for key in columns)] for name, each in figures.items()])


def _short(name: Any) -> str:
    shown = printable(str(name))
    return shown if len(shown) <= LETTERS else f"...{shown[-LETTERS:]}"


def _bars(figures: Figures, key: str, title: str) -> str:
    """Return a chart of bars, each with its count; nothing where there are no figures."""
    if not figures:
        return ""
    values = [each[key] or 0.0 for each in figures.values()]

    def draw(axes: Axes) -> None:
        axes.barh(range(len(values)), values, height=0.7, color=SERIES[0])
        for at, (value, each) in enumerate(zip(values, figures.values())):
            axes.annotate(f"{each['count']:,}", (value, at), (3, 0), textcoords="offset points", va="center", fontsize=8)
        axes.set_yticks(range(len(values)), [_short(name) for name in figures])
        axes.set(xlim=(0, 1.18 * max(*values, 0.01)), ylim=(len(values) - 0.4, -0.6))
        axes.grid(visible=False, axis="y")

    return chart(draw, f"{title}, with counts", (SMALL[0], 0.9 + 0.22 * len(values)))


def _confusion(counts: Sequence[Sequence[int]], names: Sequence[str], classes: int) -> str:
    def draw(axes: Axes) -> None:
        from matplotlib.patches import Rectangle

        size = len(names)
        for row, numbers in enumerate(counts):
            for column, count in enumerate(numbers):
                share = count / max(sum(numbers), 1)
                axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=SERIES[0], alpha=share, linewidth=0))
                if count and size <= 12:
                    axes.text(column, row, f"{count:,}", ha="center", va="center", fontsize=8, color=INK)
        axes.set_xticks(range(size), [_short(name) for name in names], rotation=90)
        axes.set_yticks(range(size), [_short(name) for name in names])
        axes.set(xlim=(-0.5, size - 0.5), ylim=(size - 0.5, -0.5), xlabel="answered", ylabel="class")
        axes.grid(visible=False)

    most = f", the {len(names)} classes with most nodes of {classes:,}" if len(names) < classes else ""
    return chart(draw, f"confusion: rows are classes, more colour is a larger share{most}", (SMALL[0], 4.0))
