"""Draw which edges of a window an epoch trains, and how often: in proportion to a power of their weights.

An epoch trains as many edges as without weights. Each has its share of them, rounded up or down, so that over epochs it is
trained as often as its weight says. Nothing else of a batch changes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from marius_lite.graph.weight_shares import parts, running, shares
from marius_lite.seeds import generator_for, order_for

Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.uint32]


def order_by_weight(weights: Floats, power: float, seed: int, epoch: int, step: int, first_batch: int) -> Places:
    """Return the places of a window's edges in the order in which they are trained; uint32 (edges,), as many as ``weights``.

    The order follows from the run's ``seed`` and the window, which begins with batch ``first_batch`` of the ``step``. ``weights``
    are overwritten. Takes 4 bytes an edge beside them and the result. Raises UserError for weights that are not finite.
    """
    shares(weights, power)
    point = generator_for(seed, "weights", epoch, step, first_batch).random()
    places = drawn(weights, point)
    order = order_for(seed, "shuffle", epoch, step, first_batch, len(places))
    for part in parts(len(order)):
        order[part] = places[order[part]]
    return order


def drawn(shares: Floats, point: float) -> Places:
    """Return as many places as there are ``shares``, ascending: place k floor or ceil of shares[k] / mean times.

    ``point``: in [0, 1); over all points the mean is exactly that.
    """
    count = len(shares)
    places, at = np.empty(count, np.uint32), 0
    total = 0.0
    for _, ends in running(shares):
        total = float(ends[-1])
    for part, ends in running(shares):
        ends *= count / total
        ends += point
        stops = np.minimum(ends, count).astype(np.int64)
        if part.stop >= count:
            stops[-1] = count
        times = np.diff(stops, prepend=at)
        places[at : stops[-1]] = np.repeat(np.arange(part.start, part.start + len(ends), dtype=np.uint32), times)
        at = int(stops[-1])
    return places
