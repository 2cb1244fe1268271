"""What is said where torch_geometric, which is optional, is not there."""

from __future__ import annotations

from marius_lite.errors import UserError


def without_geometric(why: object) -> UserError:
    return UserError(f"model.encoder: graph neural networks need torch_geometric, which cannot be imported ({why}): pip install "
                     "'marius-lite[gnn]'")
