"""Tell whether metrics.jsonl lacks lines from before a checkpoint. The model is not touched by it."""

from __future__ import annotations

from pathlib import Path


def missing_lines(metrics: Path, expected: int) -> str:
    """Return what to say where metrics.jsonl has fewer bytes than a checkpoint recorded; nothing where it has them."""
    length = metrics.stat().st_size if metrics.exists() else 0
    if length >= expected:
        return ""
    return f"{metrics}: {length} bytes, {expected} at the checkpoint: lines of what was trained before it are missing"
