"""Objects by place, package.module:Name: so tables name what is loaded only once it is wanted."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def at_place(place: str) -> Any:
    """The object at ``place``; its module is loaded."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
