import numpy as np
import pytest

from marius_lite.errors import UserError


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
