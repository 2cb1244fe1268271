"""Orderings: pure functions from sizes, seed and epoch to the plan of an epoch."""

from marius_lite.ordering.beta import beta_swaps, lower_bound
from marius_lite.ordering.comet import comet_shape
from marius_lite.ordering.plan import ORDERINGS, check, choose, make_plan, spare_slots
from marius_lite.ordering.traffic import Traffic, Transition, bytes_per_epoch, partition_traffic, transitions

__all__ = ["ORDERINGS", "Traffic", "Transition", "beta_swaps", "bytes_per_epoch", "check", "choose",
           "comet_shape", "lower_bound", "make_plan", "partition_traffic", "spare_slots", "transitions"]
