"""The command `marius-lite plan`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from marius_lite.cli import options
from marius_lite.log import log
from marius_lite.printable import printable


def plan(
    dataset: options.Dataset,
    config: options.ConfigFile = None,
    sets: options.Sets = None,
    as_json: options.Json = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Also write a page with a picture of the plan: steps and partitions."),
    ] = None,
    allow_code: options.AllowCode = False,
    timed: Annotated[
        bool, typer.Option("--timed/--untimed", help="Whether seconds of an epoch are measured, where there are several ways.")
    ] = True,
) -> None:
    """Show what a training run would take, without training: memory, disk, swaps, and bytes moved in each epoch.

    Where an encoder learns from features on the CPU, the ways to train are shown side by side, with the seconds of an epoch from
    a short calibration.
    """
    import json
    from dataclasses import asdict

    from marius_lite.estimate import plan_run
    from marius_lite.files import require_folder_of
    from marius_lite.graph.dataset import Dataset
    from marius_lite.graph.defaults import config_for

    if html is not None:
        require_folder_of(html, "--html")
    given = config_for(Dataset.open(dataset), config, sets or [])
    result = plan_run(dataset, given)
    if result["config"]["model"]["encoder"] != "none":
        from marius_lite.prices.ways import prices_of  # loads torch

        prices = prices_of(dataset, given, timed)
        result |= {"prices": asdict(prices)} if prices else {}
    if html is not None:
        from marius_lite.report.plan_page import write_plan

        write_plan(dataset, result, html)
        log.info(printable(f"the picture of the plan is in {html}"))
    print(json.dumps(result) if as_json else _text(result))


def _text(result: Mapping[str, Any]) -> str:
    from marius_lite.counted import counted
    from marius_lite.sizes import format_bytes as size
    from marius_lite.tasks.epoch_products import EpochProducts

    memory, disk, start = result["memory"], result["disk"], result["start"]
    layers = f", what nodes gather for a layer {size(disk['layers'])}" if "layers" in disk else ""
    pooling = memory["pooling"]
    ahead = "samples" if pooling else "rows in the order of batches"
    packs = f", at most {size(disk['packs'])} of {ahead}" if "packs" in disk else ""
    pool = f"{pooling['rows']:,} rows and " if pooling else ""
    batches = f", {result['batches']:,} batch{'' if result['batches'] == 1 else 'es'}" if "batches" in result else ""
    ranks = result["config"]["scale"]["ranks"]
    each = "process" if result["ordering"] == "node_classification" else f"of {ranks} lanes"
    lanes = f" for each {each}" if ranks > 1 else ""
    lines = [
        f"{result['nodes']:,} nodes, {result['edges']:,} training edges, {counted(result['relations'], 'relation')}",
        f"{counted(result['partitions'], 'partition')}, {result['capacity']} resident ({result['ordering']}), "
        f"{counted(result['steps'], 'step')}, {counted(result['swaps'], 'swap')}{batches} an epoch, on {result['device']}",
        f"memory      {size(memory['total'])}{lanes}: {pool}{memory['slots']} slots of {size(memory['slot_bytes'])} "
        f"{size(memory['buffer'])}, edges {size(memory['edges'])}, batch {size(memory['workspace'])}, "
        f"evaluation {size(memory['evaluation'])}",
        f"disk        {size(disk['total'])}: rows {size(disk['rows'])}, checkpoints {size(disk['checkpoints'])}{packs}{layers}",
        f"at start    {size(start['rows_written'])} written",
    ]
    if result["scoring_gflops"]:
        rates = ", ".join(f"{way} {rate}" for way, rate in result["scoring_gflops"].items())
        lines.append(f"scores      by {result['scoring']}; GFLOP/s of a thread: {rates}")
    if "products" in result:
        lines.append(f"products    {EpochProducts(**result['products']).told()}")
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
    lines += _prices(result["prices"]) if "prices" in result else []
    lines += [f"note        {remark}" for remark in result["remarks"]]
    return "\n".join(map(printable, lines))


def _prices(prices: Mapping[str, Any]) -> list[str]:
    """Return a line for each way to train, and how it was timed."""
    from marius_lite.sizes import format_bytes as size

    head = f"{'ways':<11} {'read an epoch':>15} {'memory':>12} {'temporary disk':>15} {'an epoch':>10}"
    lines = []
    for each in prices["ways"]:
        if each["why_not"]:
            lines.append(f"  {each['way']}: {each['why_not']}")
            continue
        seconds = "-" if each["seconds"] is None else f"{each['seconds']:.3g} s"
        unseen = f"; {each['absent']:.0%} of neighbours are not seen" if each["absent"] else ""
        sizes = f"{size(each['read']):>12} {size(each['memory']):>12} {size(each['disk']):>15} {seconds:>10}"
        lines.append(f"  {each['way']:<14} {sizes}  {each['about']}{unseen}")
    if (rates := prices["rates"]) is None:
        return [head, *lines]
    how = "past the page cache" if rates["direct"] else "through the page cache, which may have had them"
    lines.append(f"  timed in {prices['seconds']:.1f} s; files are read at {size(int(rates['read']))}/s, {how}")
    return [head, *lines]


def _neighbours(sampling: Mapping[str, Any]) -> str:
    hops = [
        ", ".join(f"{name}: {number}" for name, number in fanout.items()) if isinstance(fanout, dict) else str(fanout)
        for fanout in sampling["fanouts"]
    ]
    return f"fanouts {'; '.join(hops)}{'; by weight' if sampling['weighted'] else ''}"
