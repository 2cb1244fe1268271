"""A number changed in a Parquet file that has checksums of its pages is an error, whatever the file is about."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from preprocess_tools import make

from marius_lite.errors import UserError

NODES = 900
IDS = np.arange(NODES)
EDGES = {"src": IDS, "dst": IDS[::-1].copy()}
ABOUT_NODES = {
    "features": {"a": IDS * 0.5, "b": IDS / 3},
    "labels": {"label": IDS % 7},
    "node_types": {"id": IDS, "type": IDS % 5},
}
WAYS = [{"use_dictionary": False}, {"use_dictionary": True}, {"use_dictionary": False, "data_page_version": "2.0"}]


def _written(path, columns, **options):
    """Write a table without compression. Returns its bytes, and places of values in the pages of each column."""
    pq.write_table(pa.table(columns), path, compression="none", **options)
    places = []
    with pq.ParquetFile(path) as opened:
        for number in range(len(columns)):
            chunk = opened.metadata.row_group(0).column(number)
            begin = chunk.dictionary_page_offset or chunk.data_page_offset
            places += [begin + chunk.total_compressed_size - back for back in (1, 40)]
            places += [chunk.data_page_offset - back for back in (1, 40) if chunk.dictionary_page_offset]
    return path.read_bytes(), places


def _flipped(path, content, at):
    path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("role", ["edges", "features", "lists", "labels", "label_pairs", "node_types"])
def test_every_changed_page_with_a_checksum_is_found(tmp_path, role, way):
    lists = {"features": np.stack(list(ABOUT_NODES["features"].values()), 1).tolist()}
    pairs = {"id": IDS, "label": IDS % 7}
    columns = {"edges": EDGES, "lists": lists, "label_pairs": pairs, **ABOUT_NODES}[role]
    path = tmp_path / "given.parquet"
    content, places = _written(path, columns, write_page_checksum=True, **way)
    np.save(tmp_path / "edges.npy", np.stack(list(EDGES.values()), 1))
    option = {"lists": "features", "label_pairs": "labels"}.get(role, role)
    given = {} if role == "edges" else {option: path}
    edges = path if role == "edges" else tmp_path / "edges.npy"
    make(tmp_path / "whole", edges, **given)
    for at in places:
        _flipped(path, content, at)
        with pytest.raises(UserError, match=r"given\.parquet: damaged or cut short \(.*page integrity"):
            make(tmp_path / "d", edges, **given)


def test_without_checksums_a_changed_number_is_another_number(tmp_path):
    """This is what README says of such files."""
    path = tmp_path / "edges.parquet"
    content, places = _written(path, EDGES, use_dictionary=False)
    _flipped(path, content, places[-1])
    assert make(tmp_path / "d", path).manifest.edges == {"train": NODES}
