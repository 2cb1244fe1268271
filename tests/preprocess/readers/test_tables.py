"""Arrow's own files: any type of column that holds ids, any size of batch; damage is said."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from preprocess_tools import decoded, make

from marius_lite.errors import UserError

SRC, DST = ["a", "b" * 40, "a"], ["b" * 40, "c", "a"]
WANTED = Counter({("a", "", "b" * 40): 1, ("b" * 40, "", "c"): 1, ("a", "", "a"): 1})
TYPES = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
KINDS = {"file": pa.ipc.new_file, "stream": pa.ipc.new_stream}


def write(path, table, new=pa.ipc.new_file, **options):
    with new(path, table.schema, **options) as written:
        written.write_table(table, max_chunksize=2)
    return path


@pytest.mark.parametrize("type", TYPES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_types_of_text(tmp_path, type, kind):
    table = pa.table({name: pa.array(values).cast(type) for name, values in (("src", SRC), ("dst", DST))})
    assert decoded(make(tmp_path / "d", write(tmp_path / "e", table, KINDS[kind]))) == WANTED


def test_compressed_batches_larger_than_a_block(tmp_path):
    rows = np.random.default_rng(0).integers(0, 500, (20_000, 2))
    table = pa.table({"src": rows[:, 0], "dst": rows[:, 1], "weight": rows[:, 0] / 8})
    with pa.ipc.new_file(tmp_path / "e.feather", table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as written:
        written.write_table(table)
    dataset = make(tmp_path / "d", tmp_path / "e.feather", edge_weight="weight", memory="1MiB")
    assert decoded(dataset) == Counter((src, "", dst) for src, dst in rows.tolist())
    assert dataset.manifest.edge_columns == ("weight",)


def test_bad_rows_are_told_by_their_number(tmp_path):
    table = pa.table({"src": [1, 2, None, 4], "dst": [5, 6, 7, -8]})
    path = write(tmp_path / "e.arrow", table)
    with pytest.raises(UserError, match=r"e\.arrow: row 2: src: null"):
        make(tmp_path / "d", path)
    assert make(tmp_path / "d", path, on_bad_row="skip").manifest.edges == {"train": 2}


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_cut_short(tmp_path, kind):
    whole = write(tmp_path / "e", pa.table({"src": list(range(999)), "dst": list(range(999))}), KINDS[kind]).read_bytes()
    (tmp_path / "cut").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match="cut: damaged or cut short"):
        make(tmp_path / "d", tmp_path / "cut")


def test_no_rows_at_all(tmp_path):
    path = write(tmp_path / "e.arrow", pa.table({"src": pa.array([], pa.int64()), "dst": pa.array([], pa.int64())}))
    with pytest.raises(UserError, match="no edges at all"):
        make(tmp_path / "d", path)


@pytest.mark.parametrize("last", [1 << 30, -1])
@pytest.mark.parametrize("kind", KINDS)
def test_places_outside_the_bytes_of_strings(tmp_path, kind, last):
    """Arrow itself does not look at them before it reads there."""
    table = pa.table({"src": ["first", "second"], "dst": ["third", "fourth"]})
    data = write(tmp_path / "e", table, KINDS[kind]).read_bytes()
    offsets = np.array([0, 5, 11], np.int32)
    assert offsets.tobytes() in data
    offsets[2] = last
    (tmp_path / "e").write_bytes(data.replace(np.array([0, 5, 11], np.int32).tobytes(), offsets.tobytes()))
    with pytest.raises(UserError, match="e: damaged or cut short"):
        make(tmp_path / "d", tmp_path / "e")
