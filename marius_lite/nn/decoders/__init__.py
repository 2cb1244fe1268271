"""Decoders: scores of (source, relation, destination), one file each."""

from marius_lite.nn.decoders.base import Decoder
from marius_lite.nn.decoders.complex import ComplEx
from marius_lite.nn.decoders.distmult import DistMult
from marius_lite.nn.decoders.dot import Dot
from marius_lite.nn.decoders.draw import Draw
from marius_lite.nn.decoders.rotate import RotatE
from marius_lite.nn.decoders.transe import TransE, TransEL1

DECODERS: dict[str, Decoder] = {
    "dot": Dot(),
    "distmult": DistMult(),
    "complex": ComplEx(),
    "transe": TransE(),
    "transe_l1": TransEL1(),
    "rotate": RotatE(),
}

__all__ = ["DECODERS", "ComplEx", "Decoder", "DistMult", "Dot", "Draw", "RotatE", "TransE", "TransEL1"]
