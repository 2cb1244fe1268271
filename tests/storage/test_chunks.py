"""What every caller of storage may count on: where the rows of a partition are is asked, never built."""

import numpy as np
import pytest
import zarr

from marius_lite._native import crc32c
from marius_lite.errors import RunError
from marius_lite.storage.checksum import file_checksum
from marius_lite.storage.chunks import first_damaged
from marius_lite.storage.columns import ColumnWriter, create_node_column, node_column, write_node_column
from marius_lite.storage.flat import open_flat
from marius_lite.storage.metadata import create_group
from marius_lite.storage.small_arrays import chunk_of_table, read_table, write_array
from marius_lite.storage.table import RowTable

NODES, ROWS = 10, 4
ENTRIES = np.arange(NODES, dtype=np.int64) * 3


def streamed(path):
    writer = ColumnWriter(path, ROWS, np.int64)
    writer.append(ENTRIES)
    writer.close()
    return open_flat(path).chunks, ENTRIES, writer.files


def by_partition(path):
    files = write_node_column(path, np.int64, NODES, ROWS, lambda ids: ENTRIES[ids.start : ids.stop])
    return node_column(path, np.int64, NODES, ROWS), ENTRIES, files


def by_chunk(path):
    chunks, files = create_node_column(path, np.int64, NODES, ROWS), {}
    for k in range(chunks.count):
        part = np.zeros(ROWS, np.int64)
        part[: len(ENTRIES[k * ROWS :][:ROWS])] = ENTRIES[k * ROWS :][:ROWS]
        with chunks.creating(k) as write:
            write(part[:1].view(np.uint8))
            write(part[1:].view(np.uint8))
        files |= chunks.entry(k, crc32c(part.view(np.uint8)))
    return chunks, ENTRIES, files


def rows(path):
    table = RowTable.create(path, NODES, 4, ROWS)
    values, files = np.arange(NODES * 4, dtype=np.float32).reshape(NODES, 4), {}
    for k in range(table.partitions):
        part = np.zeros((ROWS, 4), np.float32)
        part[: table.size(k)] = values[k * ROWS :][: table.size(k)]
        for first, last in ((2, ROWS), (0, 2)):
            with table.writing(k, first) as write:
                write(part[first:last])
        files |= table.chunks.entry(k, crc32c(part.view(np.uint8).reshape(-1)))
    return table.chunks, values, files


ARRAYS = pytest.mark.parametrize("make", [streamed, by_partition, by_chunk, rows], ids=lambda make: make.__name__)


@ARRAYS
def test_chunks_are_the_array_whoever_reads_them(make, tmp_path):
    chunks, values, _ = make(tmp_path / "a")
    found = zarr.open_array(tmp_path / "a", mode="r")
    assert np.array_equal(found[:], values)
    assert chunks.count == 3
    read = np.concatenate([chunks.read(k, values.dtype) for k in range(chunks.count)])
    assert read.tobytes() == values.tobytes() + bytes(chunks.count * chunks.size - values.nbytes)


@ARRAYS
def test_chunks_are_all_the_files_but_the_description(make, tmp_path):
    chunks, _, _ = make(tmp_path / "a")
    found = {path for path in (tmp_path / "a").rglob("*") if path.is_file()}
    assert found == {tmp_path / "a/zarr.json", *(chunks.path(k) for k in range(chunks.count))}
    assert {path.stat().st_size for path in found if path.name != "zarr.json"} == {chunks.size}


@ARRAYS
def test_what_was_written_is_told_with_its_checksum(make, tmp_path):
    chunks, _, files = make(tmp_path / "a")
    assert files == {
        path: (path.stat().st_size, file_checksum(path, path.stat().st_size)) for path in map(chunks.path, range(chunks.count))
    }
    manifest = {path.relative_to(tmp_path).as_posix(): entry for path, entry in files.items()}
    assert chunks.checksums(tmp_path, manifest) == {k: files[chunks.path(k)][1] for k in range(chunks.count)}
    with pytest.raises(KeyError):
        chunks.checksums(tmp_path, dict(list(manifest.items())[1:]))


@ARRAYS
@pytest.mark.parametrize("most", [1, 7, 1 << 20])
def test_a_chunk_comes_in_pieces(make, most, tmp_path):
    chunks, values, _ = make(tmp_path / "a")
    pieces = list(chunks.blocks(1, most))
    assert b"".join(piece.tobytes() for _, piece in pieces) == chunks.read(1, values.dtype).tobytes()
    assert max(len(piece) for _, piece in pieces) <= most
    assert [after for after, _ in pieces] == [chunks.size - min(chunks.size, most * (at + 1)) for at in range(len(pieces))]


@ARRAYS
def test_a_chunk_that_is_not_there_is_named(make, tmp_path):
    chunks, values, _ = make(tmp_path / "a")
    chunks.path(1).unlink()
    with pytest.raises(RunError, match=str(chunks.path(1).relative_to(tmp_path))):
        chunks.read(1, values.dtype)


def test_rows_are_read_where_they_were_written(tmp_path):
    _, values, files = rows(tmp_path / "a")
    table = RowTable.open(tmp_path / "a")
    assert np.array_equal(table.read_block(1, 1, 3), values[5:7])
    checked = table.expecting(
        table.chunks.checksums(
            tmp_path / "a", {path.relative_to(tmp_path / "a").as_posix(): entry for path, entry in files.items()}
        )
    )
    out = np.empty((2, 3), np.float32)
    checked.read_rows_into(2, np.array([0, 1]), out)
    assert np.array_equal(out, values[8:, :3])
    table.remove()
    assert not (tmp_path / "a").exists()


def test_the_first_damaged_chunk_is_found(tmp_path):
    chunks, _, files = rows(tmp_path / "a")
    sums = {k: files[chunks.path(k)][1] for k in range(chunks.count)}
    assert first_damaged(tmp_path / "a", sums) is None
    chunks.path(2).unlink()
    assert first_damaged(tmp_path / "a", sums) == chunks.path(2)
    chunks.path(1).write_bytes(bytes(chunks.size))
    assert first_damaged(tmp_path / "a", sums) == chunks.path(1)


def test_a_small_array_is_one_chunk(tmp_path):
    create_group(tmp_path / "g")
    values = np.arange(6, dtype=np.uint32).reshape(3, 2)
    write_array(tmp_path / "g/sums", values)
    assert np.array_equal(zarr.open_group(tmp_path / "g", mode="r")["sums"][:], values)
    assert np.array_equal(read_table(tmp_path / "g/sums", np.uint32, (-1, 2)), values)
    assert chunk_of_table(tmp_path / "g/sums", values.nbytes).path(0).stat().st_size == values.nbytes
    with pytest.raises(ValueError, match="reshape"):
        read_table(tmp_path / "g/sums", np.uint32, (4, 2))


def test_a_file_is_replaced_when_all_of_the_new_one_is_there(tmp_path):
    table = RowTable.create(tmp_path / "table", NODES, 4, ROWS)
    old, new = np.zeros((ROWS, 4), np.float32), np.ones((ROWS, 4), np.float32)
    with table.writing(0, 0) as write:
        write(old)
    linked = tmp_path / "linked"
    linked.hardlink_to(table.chunks.path(0))

    def cut():
        with table.chunks.replacing(0) as append:
            append(new.view(np.uint8)[:2])
            raise OSError("cut")

    with pytest.raises(OSError, match="cut"):
        cut()
    assert table.chunks.path(0).read_bytes() == old.tobytes()
    assert [path.name for path in table.chunks.path(0).parent.iterdir()] == ["0"]
    with table.chunks.replacing(0) as append:
        append(new.view(np.uint8))
    assert table.chunks.path(0).read_bytes() == new.tobytes()
    assert linked.read_bytes() == old.tobytes()
