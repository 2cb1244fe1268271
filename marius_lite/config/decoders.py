"""List the decoders by name: where the class of each is, and what must be known of it without torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


def none(dim: int) -> int:
    return 0


@dataclass(frozen=True)
class DecoderEntry:
    """What is known of a decoder before its class is loaded.

    ``place``: its class, as package.module:Class. ``even``: whether ``dim`` must be even, because one half of a row holds real
    parts and the other half imaginary parts. ``asks_for_relations``: whether it can rank relations, given both ends of an edge.
    ``inner``: whether scores are inner products, to which a node's biases can be added. ``product``: whether its queries are
    products of rows and relations, of real numbers or of complex ones, conjugate for sources: a CPU has native code for them.
    ``weights``: a function of ``dim``: how many numbers its own weights have.
    """

    place: str
    even: bool = False
    asks_for_relations: bool = False
    inner: bool = False
    product: Literal["real", "complex"] | None = None
    weights: Callable[[int], int] = none


DECODERS: dict[str, DecoderEntry] = {
    "dot": DecoderEntry("marius_lite.nn.decoders.dot:Dot", inner=True),
    "distmult": DecoderEntry("marius_lite.nn.decoders.distmult:DistMult", asks_for_relations=True, inner=True, product="real"),
    "complex": DecoderEntry(
        "marius_lite.nn.decoders.complex:ComplEx", even=True, asks_for_relations=True, inner=True, product="complex"
    ),
    "transe": DecoderEntry("marius_lite.nn.decoders.transe:TransE", asks_for_relations=True),
    "transe_l1": DecoderEntry("marius_lite.nn.decoders.transe:TransEL1", asks_for_relations=True),
    "rotate": DecoderEntry("marius_lite.nn.decoders.rotate:RotatE", even=True),
}
