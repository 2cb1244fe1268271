import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.sampling.windows import WindowReader, batch_slices, shuffled, to_rows, windows_of
from marius_lite.types import Step


class Edges:
    """An EdgeBuckets of numbered edges."""

    def __init__(self, counts):
        self.counts = counts
        self.first = np.concatenate([[0], np.cumsum(counts.ravel())])

    def read_into(self, buckets, src, dst, rel):
        p, at = len(self.counts), 0
        for i, j in buckets:
            n = int(self.counts[i, j])
            numbers = np.arange(self.first[i * p + j], self.first[i * p + j] + n)
            src[at : at + n], dst[at : at + n], rel[at : at + n] = i, j, numbers
            at += n


@st.composite
def steps(draw):
    p = draw(st.integers(1, 4))
    counts = np.array(draw(st.lists(st.integers(0, 9), min_size=p * p, max_size=p * p))).reshape(p, p)
    buckets = draw(st.permutations([(i, j) for i in range(p) for j in range(p)]))
    return Step(0, tuple(range(p)), (), (), tuple(buckets)), counts


@given(steps(), st.integers(1, 20), st.integers(1, 5))
def test_windows_cover_each_bucket_once_within_the_limit(drawn, limit, batch):
    step, counts = drawn
    windows = windows_of(step, counts, limit, batch)
    assert [b for w in windows for b in w.buckets] == list(step.buckets)
    first = 0
    for window in windows:
        assert window.edges == sum(counts[b] for b in window.buckets)
        assert window.edges <= limit or sum(counts[b] > 0 for b in window.buckets) == 1
        assert window.first_batch == first
        sizes = [s.stop - s.start for _, s in batch_slices(window, batch, 0)]
        assert sum(sizes) == window.edges
        assert len(sizes) == window.batches
        first += window.batches


@given(steps(), st.integers(0, 8))
def test_batches_after_a_start_are_the_same_batches(drawn, start):
    step, counts = drawn
    for window in windows_of(step, counts, 20, 3):
        every = batch_slices(window, 3, 0)
        assert batch_slices(window, 3, start) == [b for b in every if b[0] >= start]


@given(steps(), st.booleans())
def test_every_edge_is_read_once_prefetched_or_not(drawn, prefetch):
    step, counts = drawn
    edges = Edges(counts)
    windows = windows_of(step, counts, 10, 3)
    reader = WindowReader(edges, max([10, *counts.ravel()]))
    seen = []
    for window, following in zip(windows, [*windows[1:], None]):
        taken = reader.take(window)
        if prefetch and following:
            reader.prefetch(following)
        to_rows(taken, counts, {k: 100 * k for k in range(len(counts))})
        seen += list(zip(taken.src.tolist(), taken.dst.tolist(), taken.rel.tolist()))
    reader.close()
    assert sorted(e for _, _, e in seen) == list(range(counts.sum()))
    for src, dst, edge in seen:
        i, j = divmod(int(np.searchsorted(edges.first, edge, side="right")) - 1, len(counts))
        assert (src, dst) == (101 * i, 101 * j)


def test_shuffled_is_a_permutation_of_the_seed():
    one, two = (shuffled(1000, np.random.Generator(np.random.Philox(key=5))) for _ in range(2))
    assert (one == two).all()
    assert sorted(one.tolist()) == list(range(1000))
