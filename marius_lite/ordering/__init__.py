"""Orderings: functions of sizes, seed and epoch that give the plan of an epoch."""

from marius_lite.ordering.beta import beta_swaps, lower_bound
from marius_lite.ordering.comet import comet_shape
from marius_lite.ordering.plan import NODE_ORDERINGS, ORDERINGS, check, choose, make_node_plan, make_plan, needs_all, spare_slots
from marius_lite.ordering.schedule import Ordering, Schedule, all_buckets

__all__ = [
    "NODE_ORDERINGS",
    "ORDERINGS",
    "Ordering",
    "Schedule",
    "all_buckets",
    "beta_swaps",
    "check",
    "choose",
    "comet_shape",
    "lower_bound",
    "make_node_plan",
    "make_plan",
    "needs_all",
    "spare_slots",
]
