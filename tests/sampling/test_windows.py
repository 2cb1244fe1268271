import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.sampling.windows import Cut, Window, WindowReader, batch_slices, shuffled, to_rows, windows_of
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


CUTS = st.builds(Cut, st.integers(1, 5), st.booleans())


@given(steps(), st.integers(1, 20), CUTS)
def test_windows_cover_each_bucket_once_within_the_limit(drawn, limit, cut):
    step, counts = drawn
    windows = windows_of(step, counts, limit, cut)
    assert [b for w in windows for b in w.buckets] == list(step.buckets)
    first = 0
    for window in windows:
        assert window.edges == sum(counts[b] for b in window.buckets)
        assert window.edges <= limit or sum(counts[b] > 0 for b in window.buckets) == 1
        assert window.first_batch == first
        sizes = [s.stop - s.start for _, s in batch_slices(window, 0)]
        assert sum(sizes) == window.edges
        assert len(sizes) == window.batches
        first += window.batches


@given(steps(), st.integers(0, 8), CUTS)
def test_batches_after_a_start_are_the_same_batches(drawn, start, cut):
    step, counts = drawn
    for window in windows_of(step, counts, 20, cut):
        every = batch_slices(window, 0)
        assert batch_slices(window, start) == [b for b in every if b[0] >= start]
        if start <= window.first_batch + window.batches:
            done = [s.stop - s.start for index, s in every if index < start]
            assert window.before(start) == sum(done)


@given(st.integers(0, 10**12), st.integers(1, 10**6))
def test_even_batches_are_near_the_size_that_is_asked_for(items, size):
    cut = Cut(size, even=True)
    batches = cut.batches(items)
    assert (batches == 0) == (items == 0)
    if batches:
        bounds = [cut.before(items, k) for k in (0, 1, batches // 2, batches // 2 + 1, batches - 1, batches)]
        assert bounds[0] == 0
        assert bounds[-1] == items
        least, most = items // batches, -(-items // batches)
        for first, last in ((0, 1), (2, 3), (4, 5)):
            assert least <= bounds[last] - bounds[first] <= most
        assert most <= (3 * size // 2 if batches == 1 else -(-5 * size // 4))
        assert batches == 1 or least >= 3 * size // 4


@given(st.integers(0, 10**6), st.integers(1, 1000))
def test_full_batches_leave_a_rest(items, size):
    cut = Cut(size, even=False)
    assert cut.batches(items) == -(-items // size)
    assert [cut.before(items, k) for k in range(3)] == [min(k * size, items) for k in range(3)]


@given(steps(), st.booleans(), st.booleans())
def test_every_edge_is_read_once_prefetched_or_not(drawn, prefetch, ahead):
    step, counts = drawn
    edges = Edges(counts)
    windows = windows_of(step, counts, 10, Cut(3))
    reader = WindowReader(edges, max([10, *counts.ravel()]), 7, ahead)
    seen = []
    for window, following in zip(windows, [*windows[1:], None]):
        taken = reader.take(0, window)
        if prefetch and following:
            reader.prefetch(0, following)
        np.testing.assert_array_equal(taken.order, shuffled(7, 0, window))
        to_rows(taken, counts, {k: 100 * k for k in range(len(counts))})
        seen += list(zip(taken.src.tolist(), taken.dst.tolist(), taken.rel.tolist()))
    reader.close()
    assert sorted(e for _, _, e in seen) == list(range(counts.sum()))
    for src, dst, edge in seen:
        i, j = divmod(int(np.searchsorted(edges.first, edge, side="right")) - 1, len(counts))
        assert (src, dst) == (101 * i, 101 * j)


def test_shuffled_is_a_permutation_of_the_seed():
    window = Window(2, ((0, 0),), 1000, 7, Cut(10))
    orders = [shuffled(5, epoch, window) for epoch in (1, 1, 2)]
    assert (orders[0] == orders[1]).all()
    assert (orders[0] != orders[2]).any()
    assert sorted(orders[0].tolist()) == list(range(1000))
