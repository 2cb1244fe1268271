"""The decoders by name: where each one's class is, and what must be known of it without torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def none(dim: int) -> int:
    return 0


@dataclass(frozen=True)
class DecoderEntry:
    """``place``: its class, as package.module:Class. ``even``: ``dim`` must be even, halves hold real and imaginary parts.
    ``asks_for_relations``: relations can be ranked given both ends. ``weights``: numbers in its own weights, of ``dim``."""

    place: str
    even: bool = False
    asks_for_relations: bool = False
    weights: Callable[[int], int] = none


DECODERS: dict[str, DecoderEntry] = {
    "dot": DecoderEntry("marius_lite.nn.decoders.dot:Dot"),
    "distmult": DecoderEntry("marius_lite.nn.decoders.distmult:DistMult", asks_for_relations=True),
    "complex": DecoderEntry("marius_lite.nn.decoders.complex:ComplEx", even=True, asks_for_relations=True),
    "transe": DecoderEntry("marius_lite.nn.decoders.transe:TransE", asks_for_relations=True),
    "transe_l1": DecoderEntry("marius_lite.nn.decoders.transe:TransEL1", asks_for_relations=True),
    "rotate": DecoderEntry("marius_lite.nn.decoders.rotate:RotatE", even=True),
}
