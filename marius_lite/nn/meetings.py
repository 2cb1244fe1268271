"""Add to scores what `types.Meetings` says, by more numbers of what is multiplied: native code then sees inner products.

A query has the row of the table of its class behind its numbers, an answer or a negative a 1 in the place of its class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from marius_lite.nn.scoring import Compared, SideGrads
from marius_lite.types import Meetings


def with_meetings(sides: Sequence[Compared], negatives: Tensor, meetings: Meetings) -> tuple[list[Compared], Tensor]:
    """Return what is compared, and the negatives (chunks of all sides, k, dim), with as many numbers more as there are classes.

    ``sides``: of queries about sources, then of queries about destinations, or of both in turn.
    """
    table = torch.from_numpy(meetings.table).to(negatives.device)
    known, apart = torch.from_numpy(meetings.ends).to(negatives.device), torch.from_numpy(meetings.negatives)
    answers = torch.cat(known.chunk(2)[::-1])
    ones = torch.eye(len(table), device=negatives.device)
    result, start = [], 0
    for side in sides:
        rows = slice(start, start + len(side.query))
        query, positive = torch.cat([side.query, table[known[rows]]], 1), torch.cat([side.positive, ones[answers[rows]]], 1)
        result.append(replace(side, query=query, positive=positive))
        start = rows.stop
    return result, torch.cat([negatives, ones[apart.to(negatives.device).view(negatives.shape[:2])]], 2)


def without_meetings(grads: SideGrads, dim: int) -> SideGrads:
    """Return the gradients of the first ``dim`` numbers, those that rows have."""
    query, positive, negatives = (each[..., :dim].contiguous() for each in (grads.query, grads.positive, grads.negatives))
    return SideGrads(grads.loss, query, positive, negatives)
