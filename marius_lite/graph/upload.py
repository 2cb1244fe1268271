"""Send a dataset to object storage."""

from __future__ import annotations

from pathlib import Path

from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.versions import VERSIONS, versions
from marius_lite.remote.address import address_of
from marius_lite.remote.dataset import send_dataset


def upload_dataset(dataset: Path | str, address: Path | str) -> dict[str, object]:
    """Send a dataset, with all its versions, to an address in object storage. Returns what is there then.

    A version that is there already is not sent again. Raises UserError for what is no address, or where another dataset is.
    """
    there = address_of(address)
    if there is None:
        raise UserError(f"{address}: no address in object storage: give one such as s3://bucket/name")
    if address_of(dataset) is not None:
        raise UserError(f"{dataset}: is in object storage already: give a folder of this machine")
    sent = {}
    for number, folder in versions(Path(dataset)).items():
        opened = Dataset.open(f"{dataset}@{number}")
        place = there.below(f"{VERSIONS}/{number}") if number > 1 else there
        sent[number] = send_dataset(folder, place, opened.manifest.files)
    return {"dataset": str(there), "versions": len(sent), "sent": sum(sent.values())}
