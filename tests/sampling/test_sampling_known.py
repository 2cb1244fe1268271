import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.sampling.known import known_among, with_selves
from marius_lite.types import EdgeBatch


@given(st.integers(0, 10_000), st.integers(1, 30), st.integers(1, 4), st.integers(1, 9), st.booleans())
def test_every_true_negative_and_no_other(seed, edges, chunks, count, shared):
    rng = np.random.default_rng(seed)
    src, dst, rel = rng.integers(0, 6, edges), rng.integers(0, 6, edges), rng.integers(0, 2, edges)
    negatives = rng.integers(0, 6, (1 if shared else 2, chunks, count))
    size = -(-edges // chunks)
    found = known_among(EdgeBatch(0, 0, 0, src, dst, rel), negatives)
    true = {*zip(src.tolist(), rel.tolist(), dst.tolist(), strict=True)}
    for side, pairs in enumerate(found):
        drawn = negatives[0 if shared else side]
        expected = {
            (i, c)
            for i in range(edges)
            for c in range(count)
            if ((src[i], rel[i], drawn[i // size, c]) if side == 0 else (drawn[i // size, c], rel[i], dst[i])) in true
        }
        assert {*zip(pairs.edges.tolist(), pairs.columns.tolist(), strict=True)} == expected
        assert (np.diff(pairs.edges) >= 0).all()


@given(st.integers(0, 10_000), st.integers(1, 30), st.integers(1, 4), st.integers(1, 9), st.booleans(), st.booleans())
def test_every_negative_that_is_the_node_asked_about_and_no_other(seed, edges, chunks, count, shared, known):
    rng = np.random.default_rng(seed)
    batch = EdgeBatch(0, 0, 0, *(rng.integers(0, 6, edges) for _ in range(2)), rng.integers(0, 2, edges))
    negatives = rng.integers(0, 6, (1 if shared else 2, chunks, count))
    size = -(-edges // chunks)
    before = known_among(batch, negatives) if known else ()
    for side, (pairs, asked) in enumerate(zip(with_selves(before, batch, negatives), (batch.src, batch.dst), strict=True)):
        drawn = negatives[0 if shared else side]
        expected = {(i, c) for i in range(edges) for c in range(count) if drawn[i // size, c] == asked[i]}
        expected -= {(i, c) for i, c in expected if batch.src[i] == batch.dst[i]}
        if known:
            expected |= {*zip(before[side].edges.tolist(), before[side].columns.tolist(), strict=True)}
        assert {*zip(pairs.edges.tolist(), pairs.columns.tolist(), strict=True)} == expected
        assert (np.diff(pairs.edges) >= 0).all()
