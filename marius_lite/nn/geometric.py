"""The error where torch_geometric is needed and cannot be imported. It is an optional dependency."""

from __future__ import annotations

from marius_lite.errors import UserError


def without_geometric(why: object, needs: str) -> UserError:
    """Return the error, which says how to install it. ``why``: what the import said. ``needs``: what needs it, with the verb."""
    return UserError(f"{needs} torch_geometric, which cannot be imported ({why}): pip install 'marius-lite[gnn]'")
