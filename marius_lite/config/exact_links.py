"""Plan link prediction whose neighbours are drawn among all nodes: rows come as batches need them, edges in windows.

The plan is that of a run with everything in memory: one step, all its buckets, in the order that the epoch's seed draws. Edges
are shuffled in windows of `storage.window_edges`, and negatives are drawn from all nodes. So a run with everything in memory and
windows of the same size has the same bits.
"""

from __future__ import annotations

from math import prod

from marius_lite.config.encoder_memory import EncoderSizes
from marius_lite.config.exact_scope import needs_more, rows_memory, why_not_exact
from marius_lite.config.facts import Facts
from marius_lite.config.memory import MemoryPlan, check_capacity_fits, largest_batch, negatives_shape
from marius_lite.config.planning import Resolved, Rules
from marius_lite.config.schema import Config
from marius_lite.errors import UserError
from marius_lite.ordering.plan import check_node_capacity

ORDERING = "in_memory"
EDGE_BYTES, NEGATIVE_BYTES = 2 * 20 + 20, 20
"""Bytes of an edge and of a negative in a sampled batch, beside neighbourhoods: ids, and which places have the same node; of an
edge also its relation, and the sums by relation of both sides."""
CORRECTED, KNOWN = 4, 4 * 2 * 16
"""Bytes more of a place where scores are corrected (`negatives.log_q`); of an edge where true answers, or the node itself, are
left out: four pairs a side."""


def rules(config: Config) -> Rules:
    """Return the rules for settings that neighbours among all nodes do not have."""
    asked, ordering = config.sampling.scope == "exact", config.storage.ordering
    exact = "`sampling.scope` is exact, but"
    return [
        (asked and not config.encodes, f"{exact} `model.encoder` is none: only an encoder samples neighbours, leave it out"),
        (
            asked and config.negatives.count == "all",
            f"{exact} `negatives.count` is all: every batch would need every row, give a number",
        ),
        (
            asked and config.scale.ranks > 1,
            f"{exact} `scale.ranks` is {config.scale.ranks}: lanes have partitions of their own, leave one of them out",
        ),
        (
            asked and ordering not in ("auto", ORDERING),
            f"{exact} `storage.ordering` is {ordering}: all nodes are seen at once, leave it out",
        ),
    ]


def exact_links(config: Config, facts: Facts, budget: int, whole: MemoryPlan, sizes: EncoderSizes) -> Resolved:
    """Return what is resolved where neighbours are drawn among all nodes. Where everything fits in memory, nothing is packed.

    ``whole``: the memory with everything in it. ``sizes``: of batches then. Raises UserError where it cannot be.
    """
    given, partitions = config.storage.capacity, facts.partitions
    if given != "auto":
        check_node_capacity(partitions, given)
    if given == partitions or (given == "auto" and whole.total <= budget):
        check_capacity_fits(config, partitions, whole, budget)
        return Resolved(partitions, ORDERING, whole, "exact")
    reason = why_not_exact(config)
    if reason is None:
        batches = max(1, -(-whole.window_edges // config.lane_batch))
        for capacity in range(max(partitions - 1, 1), 0, -1) if given == "auto" else [given]:
            memory = rows_memory(config, facts, whole, sizes, capacity, batches, _beside(config))
            if memory.total <= budget:
                return Resolved(capacity, ORDERING, memory, "exact")
        reason = needs_more(memory, budget, "storage.window_edges, training.batch_size, negatives.count or sampling.fanouts")
    raise UserError(f"`sampling.scope` is exact, but {reason}")


def _beside(config: Config) -> int:
    """Return the bytes that a sampled batch has beside the neighbourhoods of its nodes."""
    edges, negatives = largest_batch(config), prod(negatives_shape(config, 0))
    corrected = CORRECTED * (2 * edges + negatives) if config.negatives.log_q else 0
    return (
        EDGE_BYTES * edges
        + NEGATIVE_BYTES * negatives
        + corrected
        + KNOWN * edges * (config.negatives.mask_known + config.negatives.mask_self)
    )
