"""Decoders, which score (source, relation, destination). Each is a file here and a line in `marius_lite.config.decoders`."""

from __future__ import annotations

from marius_lite.config.decoders import DECODERS
from marius_lite.errors import UserError
from marius_lite.nn.decoders.base import Decoder, EdgeContext
from marius_lite.nn.decoders.draw import Draw
from marius_lite.places import at_place


def decoder_class(name: str) -> type[Decoder]:
    """Return the class of a decoder in `DECODERS`. Raises UserError for another name."""
    if name not in DECODERS:
        raise UserError(f"model.decoder: found {name!r}, allowed are {', '.join(DECODERS)}")
    found: type[Decoder] = at_place(DECODERS[name].place)
    return found


def make_decoder(name: str, dim: int) -> Decoder:
    """Make a decoder for ``dim`` numbers a node. Torch's generator draws its weights.

    Raises UserError for a name that is no decoder, or a dim that it cannot use.
    """
    check_dim(name, dim)
    return decoder_class(name)(dim)


def check_dim(name: str, dim: int) -> None:
    """Raise UserError for a name that is no decoder, or where it cannot use ``dim`` numbers a node."""
    kind = decoder_class(name)
    least = 2 if DECODERS[name].even else 1
    if dim < 1 or dim % least:
        raise UserError(
            f"model.dim: found {dim}, decoder {kind.__name__} needs {'an even' if least == 2 else 'a'} number >= {least}"
        )


__all__ = ["DECODERS", "Decoder", "Draw", "EdgeContext", "check_dim", "decoder_class", "make_decoder"]
