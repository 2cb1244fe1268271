"""The command `marius-lite upload`."""

from __future__ import annotations

from typing import Annotated

import typer

from marius_lite.cli import options


def upload(
    dataset: options.Dataset,
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="Where it goes, such as s3://bucket/name.")],
    as_json: options.Json = False,
) -> None:
    """Send a dataset, with all its versions, to object storage. `train`, `plan`, `info` and others then take its address.

    Nothing is there before all of it is. Versions that are there already are not sent again.
    """
    from marius_lite.cli.output import show
    from marius_lite.graph.upload import upload_dataset

    show(upload_dataset(dataset, address), as_json)
