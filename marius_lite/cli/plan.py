"""The command `marius-lite plan`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marius_lite.cli import options
from marius_lite.printable import printable


def plan(
    dataset: options.Dataset,
    config: options.ConfigFile = None,
    sets: options.Sets = None,
    as_json: options.Json = False,
    allow_code: options.AllowCode = False,
) -> None:
    """Show what a training run would take, without training: memory, disk, swaps, and bytes moved in each epoch."""
    import json

    from marius_lite.estimate import plan_run
    from marius_lite.graph.dataset import Dataset
    from marius_lite.graph.defaults import config_for

    result = plan_run(dataset, config_for(Dataset.open(dataset), config, sets or []))
    print(json.dumps(result) if as_json else _text(result))


def _text(result: Mapping[str, Any]) -> str:
    from marius_lite.files import format_bytes as size

    memory, disk, start = result["memory"], result["disk"], result["start"]
    layers = f", what nodes gather for a layer {size(disk['layers'])}" if "layers" in disk else ""
    packs = f", at most {size(disk['packs'])} of rows in the order of batches" if "packs" in disk else ""
    batches = f", {result['batches']:,} batches" if "batches" in result else ""
    lines = [
        f"{result['nodes']:,} nodes, {result['edges']:,} training edges, {result['relations']:,} relations",
        f"{result['partitions']} partitions, {result['capacity']} resident ({result['ordering']}), "
        f"{result['steps']} steps, {result['swaps']} swaps{batches} an epoch, on {result['device']}",
        f"memory      {size(memory['total'])}: {memory['slots']} slots of {size(memory['slot_bytes'])} {size(memory['buffer'])}, "
        f"edges {size(memory['edges'])}, batch {size(memory['workspace'])}, "
        f"evaluation {size(memory['evaluation'])}",
        f"disk        {size(disk['total'])}: rows {size(disk['rows'])}, checkpoints {size(disk['checkpoints'])}{packs}{layers}",
        f"at start    {size(start['rows_written'])} written",
    ]
    if result["scoring_gflops"]:
        rates = ", ".join(f"{way} {rate}" for way, rate in result["scoring_gflops"].items())
        lines.append(f"scores      by {result['scoring']}; GFLOP/s of a thread: {rates}")
    on_device = result["device_memory"]
    if on_device:
        parts = ", ".join(f"{name} {size(count)}" for name, count in on_device.items())
        lines.insert(3, f"on device   {size(sum(on_device.values()))}: {parts}")
    if "neighbours_not_resident" in result:
        lines.append(f"neighbours  {_neighbours(result['config']['sampling'])}")
        lines.append(f"invisible   {result['neighbours_not_resident']:.0%} of the neighbours of resident nodes are not resident")
    for name in ("first_epoch", "later_epoch"):
        moved = result[name]
        lines.append(
            f"{name.replace('_', ' '):<11} {size(moved['rows_read'])} rows and {size(moved['edges_read'])} edges read, "
            f"{size(moved['rows_written'])} written"
        )
    lines += [f"note        {remark}" for remark in result["remarks"]]
    return "\n".join(map(printable, lines))


def _neighbours(sampling: Mapping[str, Any]) -> str:
    hops = [
        ", ".join(f"{name}: {number}" for name, number in fanout.items()) if isinstance(fanout, dict) else str(fanout)
        for fanout in sampling["fanouts"]
    ]
    return f"fanouts {'; '.join(hops)}{'; by weight' if sampling['weighted'] else ''}"
