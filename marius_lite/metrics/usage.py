"""Read from the kernel how much memory and disk this process has used."""

from __future__ import annotations

from pathlib import Path


def process_usage() -> dict[str, int]:
    """Return bytes: ``peak_rss``; ``disk_read``, ``disk_written`` (what reached the block layer), where the kernel says them."""
    usage = {"peak_rss": peak_rss()}
    try:
        lines = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    except OSError:
        return usage
    return {**usage, "disk_read": int(lines["read_bytes"]), "disk_written": int(lines["write_bytes"])}


def peak_rss() -> int:
    """Return the largest resident set so far, in bytes.

    It is the kernel's VmHWM, because the maximum of getrusage begins with that of the process which started this one.
    """
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines["VmHWM"].split()[0]) * 1024
