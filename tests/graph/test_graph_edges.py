import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import marius_lite.graph.edge_segment as module
from marius_lite import _native
from marius_lite.errors import UserError
from marius_lite.storage.flat import read_array_range


def test_buckets_cover_the_split_in_order(dataset):
    p = dataset.partitioning
    for split, count in dataset.manifest.edges.items():
        edges = dataset.edges(split)
        assert edges.counts.shape == (3, 3)
        assert edges.total == edges.counts.sum() == count
        for i in range(3):
            for j in range(3):
                src, dst, rel = edges.read(i, j)
                assert len(src) == len(dst) == len(rel) == edges.counts[i, j]
                assert src.dtype == dst.dtype == rel.dtype == np.uint32
                assert src.max(initial=0) < p.size(i)
                assert dst.max(initial=0) < p.size(j)
                order = np.lexsort((rel, src, dst))
                assert np.array_equal(order, np.arange(len(src)))


@pytest.mark.parametrize("buckets", [[(0, 0)], [(2, 1), (0, 0)], [(0, 1), (0, 2), (1, 0), (2, 2)], []])
def test_many_buckets_are_read_back_to_back(dataset, buckets):
    edges = dataset.edges("train")
    out = [np.full(edges.total, 2**32 - 1, np.uint32) for _ in range(3)]
    read = edges.read_into(buckets, *out)
    assert read == sum(edges.counts[i, j] for i, j in buckets)
    single = [edges.read(i, j) for i, j in buckets]
    for column in range(3):
        expected = np.concatenate([np.empty(0, np.uint32), *(bucket[column] for bucket in single)])
        assert np.array_equal(out[column][:read], expected)
        assert (out[column][read:] == 2**32 - 1).all()


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.permutations([(i, j) for i in range(3) for j in range(3)]), st.integers(0, 9), st.sampled_from([0, 1, 40, 1 << 16]))
def test_in_whatever_order_they_are_asked_for(dataset, buckets, count, together):
    train, wanted = dataset.edges("train"), buckets[:count]
    out = [np.zeros(train.total, np.uint32) for _ in range(3)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "TOGETHER", together)
        read = train.read_into(wanted, *out)
    single = [train.read(i, j) for i, j in wanted]
    for column in range(3):
        expected = np.concatenate([np.empty(0, np.uint32), *(bucket[column] for bucket in single)])
        assert np.array_equal(out[column][:read], expected)


def test_small_buckets_take_few_requests(dataset, monkeypatch):
    train, asked = dataset.edges("train"), []
    every = [(i, j) for j in range(3) for i in range(3)]

    def noted(path, start, stop, out=None):
        asked.append((path.name, stop - start))
        return read_array_range(path, start, stop, out)

    assert train.total == train.counts.sum()  # what says where they lie is read before requests are counted
    monkeypatch.setattr(module, "read_array_range", noted)
    train.read_into(every, *(np.zeros(train.total, np.uint32) for _ in range(3)))
    assert sorted(asked) == [(name, train.total) for name in ("dst", "rel", "src")]


@given(st.lists(st.integers(0, 50)), st.integers(0, 100))
def test_stretches_are_as_long_as_they_may_be(sizes, most):
    found = list(module.stretches(np.array(sizes, np.int64), most))
    assert [index for part in found for index in range(part.start, part.stop)] == list(range(len(sizes)))
    for part, after in zip(found, [*found[1:], None]):
        total = sum(sizes[part])
        assert total <= most or part.stop - part.start == 1
        assert after is None or total + sizes[after.start] > most


@pytest.mark.parametrize("column", ["src", "dst", "rel"])
def test_a_changed_bit_is_noticed_by_its_bucket_only(dataset, column):
    edges = dataset.edges("train")
    start = int(edges.offsets[1 * 3 + 2])
    with open(edges.folder / column / "c/0", "r+b") as file:
        file.seek(4 * start)
        byte = file.read(1)[0]
        file.seek(4 * start)
        file.write(bytes([byte ^ 1]))
    edges.read(1, 1)
    with pytest.raises(UserError, match=rf"{column}: bucket \(1, 2\) does not match its checksum"):
        edges.read(1, 2)


def test_columns_are_streamed_by_name(dataset):
    edges = dataset.edges("train")
    assert edges.columns == ("src", "dst", "rel")
    pieces = list(edges.stream_columns(1, 2, 7, ("rel", "src")))
    src, _, rel = edges.read(1, 2)
    assert all(len(piece[0]) <= 7 for piece in pieces)
    assert [np.concatenate(column).tolist() for column in zip(*pieces)] == [rel.tolist(), src.tolist()]


@pytest.mark.parametrize(
    ("rows", "columns"),
    [(range(3), range(3)), (range(1, 2), range(3)), (range(3), range(1, 3)), (range(3), range(2, 3)), (range(1, 3), range(2))],
)
@pytest.mark.parametrize("edges", [1, 7, 1000])
def test_a_block_of_buckets_is_read_row_after_row(dataset, rows, columns, edges):
    split = dataset.edges("train")
    pieces = list(split.block(rows, columns, edges, ("dst", "rel")))
    assert all(len(column) == piece.ends[-1] <= edges for piece in pieces for column in piece.columns)
    owners = np.concatenate([np.repeat(piece.buckets, np.diff(piece.ends, prepend=0)) for piece in pieces])
    wanted = [(i * 3 + j, split.read(i, j)) for i in rows for j in columns]
    assert owners.tolist() == [bucket for bucket, (src, _, _) in wanted for _ in src]
    for found, column in zip(zip(*(piece.columns for piece in pieces)), (1, 2)):
        assert np.concatenate(found).tolist() == np.concatenate([bucket[column] for _, bucket in wanted]).tolist()


def test_what_lies_side_by_side_is_one_request(dataset, monkeypatch):
    edges, requests = dataset.edges("train"), []
    edges.offsets  # noqa: B018, read beforehand
    monkeypatch.setattr("marius_lite.graph.edge_segment.read_array_range", lambda *a: requests.append(a) or read_array_range(*a))
    for rows, columns, count in ((3, range(3), 1), (2, range(3), 1), (3, range(1, 3), 3), (3, range(1), 3)):
        requests.clear()
        list(edges.block(range(rows), columns, 1 << 20, ("src",)))
        assert len(requests) == count


@pytest.mark.parametrize("edges", [3, 1000])
def test_a_changed_bit_in_a_block_is_noticed(dataset, edges):
    split = dataset.edges("train")
    place = int(split.offsets[2 * 3 + 1]) - 1  # the last edge of bucket (2, 0)
    data = np.memmap(split.folder / "dst/c/0", np.uint32, "r+")
    data[place] ^= 1
    data.flush()
    assert len(list(split.block(range(3), range(1, 3), edges, ("dst",))))
    with pytest.raises(UserError, match=r"dst: bucket \(2, 0\) does not match its checksum"):
        list(split.block(range(3), range(2), edges, ("src", "dst")))


def test_checksums_of_stretches():
    data = np.arange(40, dtype=np.uint8)
    sums = np.array([0, 5, 6, 0], np.uint32)
    _native.crc32c_stretches(data, np.array([0, 3, 3, 10]), 4, sums)
    assert sums.tolist() == [0, _native.crc32c(data[:12], 5), 6, _native.crc32c(data[12:], 0)]
    for ends, count in (([4, 3], 2), ([11], 1), ([-1], 1), ([1], 2)):
        with pytest.raises(ValueError, match="ends"):
            _native.crc32c_stretches(data, np.array(ends), 4, np.zeros(count, np.uint32))
