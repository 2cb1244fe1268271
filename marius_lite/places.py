"""Find objects by their place, package.module:Name. So tables can name what is loaded only when it is used."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def at_place(place: str) -> Any:
    """Return the object at ``place``, and import its module."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
