"""What the kernel says this process has used."""

from __future__ import annotations

import resource
from pathlib import Path


def process_usage() -> dict[str, int]:
    """``peak_rss``, and ``disk_read``, ``disk_written`` (what reached the block layer), in bytes."""
    usage = {"peak_rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}
    try:
        lines = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    except OSError:
        return usage
    return {**usage, "disk_read": int(lines["read_bytes"]), "disk_written": int(lines["write_bytes"])}
