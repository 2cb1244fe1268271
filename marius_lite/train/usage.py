"""What the kernel says this process has used."""

from __future__ import annotations

from pathlib import Path


def process_usage() -> dict[str, int]:
    """``peak_rss``, and ``disk_read``, ``disk_written`` (what reached the block layer), in bytes."""
    usage = {"peak_rss": peak_rss()}
    try:
        lines = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    except OSError:
        return usage
    return {**usage, "disk_read": int(lines["read_bytes"]), "disk_written": int(lines["write_bytes"])}


def peak_rss() -> int:
    """Bytes. The kernel's VmHWM: getrusage's maximum begins with that of the process which started this one."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines["VmHWM"].split()[0]) * 1024
