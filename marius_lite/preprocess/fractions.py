"""Fractions of a split: train, valid and test."""

from __future__ import annotations

import math

from marius_lite.errors import UserError

Fractions = tuple[float, float, float]


def parse_fractions(text: str | None, option: str) -> Fractions | None:
    """Return (train, valid, test), which sum to 1; None for None. Raises UserError, which names the ``option``."""
    if text is None:
        return None
    try:
        train, valid, test = (float(part) for part in text.split(","))
    except ValueError:
        raise UserError(f"{option} {text}: write three fractions for train, valid and test, for example 0.9,0.05,0.05") from None
    parts = (train, valid, test)
    if not all(math.isfinite(part) and part >= 0 for part in parts) or train <= 0:
        raise UserError(f"{option} {text}: no fraction may be negative and train must be above 0, for example 0.9,0.05,0.05")
    if abs(sum(parts) - 1) > 1e-6:
        raise UserError(f"{option} {text}: the fractions sum to {sum(parts):g}: they must sum to 1, for example 0.9,0.05,0.05")
    return parts


def split_bounds(fractions: Fractions) -> tuple[int, int]:
    """Return where train ends and where valid ends among 63-bit hashes."""
    train, valid, test = fractions
    whole = 1 << 63
    first = int(train * whole) if valid or test else whole
    return first, (int((train + valid) * whole) if test else whole)
