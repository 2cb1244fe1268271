"""Sizes in bytes, as people write and read them."""

from __future__ import annotations

MOST_SHOWN = 200  # characters of what is no size


def parse_bytes(text: object) -> int:
    """Return a size in bytes: ``4GB`` -> 4000000000, ``512MiB`` -> 536870912, ``123`` -> 123. Raises ValueError for others."""
    if isinstance(text, int):
        return text
    if not isinstance(text, (str, float)):
        raise ValueError(f"{str(text)[:MOST_SHOWN]} is not a size: write for example 4GB or 512MiB")
    text = str(text)
    units = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
    units |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
    stripped = text.strip()
    number = stripped.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
    unit = stripped[len(number) :].strip().upper()
    if unit not in units:
        raise ValueError(f"{text!r} is not a size: write a number and one of B, KB, MB, GB, TB, KiB, MiB, GiB, TiB")
    try:
        if (size := int(float(number) * units[unit])) < 0:
            raise ValueError
        return size
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is not a size: write for example 4GB or 512MiB") from None


def format_bytes(count: float) -> str:
    """Return bytes as text: 1234567 -> '1.23 MB'."""
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if abs(count) < 1000 or unit == "TB":
            return f"{count:.0f} B" if unit == "B" else f"{count:.2f} {unit}"
        count /= 1000
    raise AssertionError
