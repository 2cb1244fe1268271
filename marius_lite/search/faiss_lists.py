"""Lists of vectors by faiss: they are learned, vectors are put into them as codes, and the lists near a query are searched.

Vectors are compared by inner product or by Euclidean distance. In either case a list holds vectors that are near by distance.
With inner products the lists are searched whose centroids have the largest product with the query. A quarter as many of them were
enough as of lists of like directions, which faiss makes by itself. Codes are float32, or a product quantizer's (Jegou, Douze,
Schmid, PAMI 2011) of what the list's centroid leaves over. The bytes on disk are ours, and have checksums.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from marius_lite.errors import UserError
from marius_lite.search.kinds import IndexPlan
from marius_lite.types import Ids

Vectors = npt.NDArray[np.float32]
Codes = npt.NDArray[np.uint8]
ROUNDS = 10
"""Rounds of k-means."""


def load_faiss() -> Any:
    """Return the module faiss. Raises UserError where it is not installed."""
    try:
        import faiss
    except ImportError as error:
        raise UserError(
            f"an index needs faiss, which cannot be loaded ({error}): pip install 'marius-lite[search]', or ask `neighbors` "
            "with --exact, which needs none"
        ) from None
    return faiss


class FaissLists:
    """Lists of codes of vectors (n, width). `learn` or `restore` first, then `fill`, then `search`."""

    def __init__(self, plan: IndexPlan, by_distance: bool, threads: int):
        self._faiss = faiss = load_faiss()
        self._plan = plan
        faiss.omp_set_num_threads(threads)
        self._by_distance = by_distance
        measure = faiss.METRIC_L2 if by_distance else faiss.METRIC_INNER_PRODUCT
        self._centroids = faiss.IndexFlatL2(plan.width)
        if plan.subspace:
            codes = plan.width // plan.subspace
            self._index = faiss.IndexIVFPQ(self._centroids, plan.width, plan.lists, codes, 8, measure)
            self._index.use_precomputed_table = -1  # it would take memory that nobody has planned
            self._index.pq.cp.niter = ROUNDS
        else:
            self._index = faiss.IndexIVFFlat(self._centroids, plan.width, plan.lists, measure)
        self._index.own_fields = False
        self._index.cp.niter, self._index.cp.spherical = ROUNDS, False

    @property
    def code_bytes(self) -> int:
        """Bytes of a code."""
        return int(self._index.code_size)

    def learn(self, vectors: Vectors, seed: int) -> None:
        """Learn the lists, and the codes, from vectors (n, dim)."""
        settings = [self._index.cp, *([self._index.pq.cp] if self._plan.subspace else [])]
        for each in settings:
            each.seed, each.min_points_per_centroid = seed % (1 << 31), 1  # it would warn on standard error
        self._index.train(self._padded(vectors))

    def encode(self, vectors: Vectors) -> tuple[npt.NDArray[np.uint16], Codes]:
        """Return the list and the code of each vector (n, dim): (n,), (n, code_bytes)."""
        padded = self._padded(vectors)
        codes = np.empty((len(padded), self.code_bytes), np.uint8)
        lists = np.ascontiguousarray(self._centroids.search(padded, 1)[1].reshape(-1))
        pointer = self._faiss.swig_ptr
        self._index.encode_vectors(len(padded), pointer(padded), pointer(lists), pointer(codes))
        return lists.astype(np.uint16), codes

    def learned(self) -> bytes:
        """Return what was learned, without codes."""
        return self._faiss.serialize_index(self._index).tobytes()  # type: ignore[no-any-return]

    def restore(self, learned: bytes) -> None:
        """Take what another of the same plan has learned."""
        self._index = self._faiss.deserialize_index(np.frombuffer(learned, np.uint8))
        if self._plan.subspace:
            self._index.use_precomputed_table = -1
        if not self._by_distance:
            made = self._faiss.downcast_index(self._index.quantizer)
            self._centroids = self._faiss.IndexFlatIP(self._plan.width)
            self._centroids.add(made.reconstruct_n(0, self._plan.lists))
            self._index.own_fields = False
            self._made = made  # it goes with this object, as the other does
            self._index.quantizer = self._centroids

    def fill(self, lists: Iterator[tuple[Codes, Ids]]) -> None:
        """Take the codes (m, code_bytes) and node ids (m,) of each list, in order. No more memory is taken than they need."""
        faiss = self._faiss
        inverted = faiss.ArrayInvertedLists(self._plan.lists, self.code_bytes)
        for number, (codes, ids) in enumerate(lists):
            if len(ids):
                inverted.add_entries(number, len(ids), faiss.swig_ptr(ids), faiss.swig_ptr(codes))
                self._index.ntotal += len(ids)
        self._index.replace_invlists(inverted, False)
        self._inverted = inverted  # the index does not own it

    def search(self, queries: Vectors, count: int, probes: int, chosen: npt.NDArray[np.uint8] | None = None) -> Ids:
        """Return the ``count`` nodes nearest to queries (n, dim) by their codes, in the ``probes`` nearest lists: (n, count).

        Where there are fewer, the rest is -1. ``chosen``: a bit for each node, the lowest of each byte first, 1 for those
        that may be found.
        """
        options: dict[str, Any] = {"nprobe": probes}
        if chosen is not None:
            options["sel"] = self._faiss.IDSelectorBitmap(chosen)
        found: Ids = self._index.search(self._padded(queries), count, params=self._faiss.SearchParametersIVF(**options))[1]
        return found

    def _padded(self, vectors: Vectors) -> Vectors:
        if vectors.shape[1] == self._plan.width:
            return np.ascontiguousarray(vectors)
        padded = np.zeros((len(vectors), self._plan.width), np.float32)
        padded[:, : vectors.shape[1]] = vectors
        return padded
