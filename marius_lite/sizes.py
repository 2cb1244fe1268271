"""Sizes in bytes, as people write and read them."""

from __future__ import annotations

MOST_SHOWN = 200  # characters of what is no size


def parse_bytes(text: object) -> int:
    """Return a size in bytes: ``4GB`` -> 4000000000, ``512MiB`` -> 536870912, ``123`` -> 123. Raises ValueError for others."""
    if isinstance(text, int):
        return text
    from pydantic import ByteSize, TypeAdapter, ValidationError  # here: not every command that shows sizes reads some

    try:
        if not isinstance(text, (str, float)):
            raise ValueError
        # Texts such as 1e9, which YAML does not take for numbers, are no sizes to pydantic.
        size = int(float(text)) if is_number(text) else int(TypeAdapter(ByteSize).validate_python(text))
        if size < 0:
            raise ValueError
        return size
    except (ValidationError, ValueError, OverflowError):
        raise ValueError(
            f"{str(text)[:MOST_SHOWN]!r} is not a size: write a number of bytes, or one with a unit, for example 4GB or 512MiB"
        ) from None


def is_number(text: str | float) -> bool:
    """Return whether Python takes a text for a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def format_bytes(count: float) -> str:
    """Return bytes as text: 1234567 -> '1.23 MB'."""
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if abs(count) < 1000 or unit == "TB":
            return f"{count:.0f} B" if unit == "B" else f"{count:.2f} {unit}"
        count /= 1000
    raise AssertionError
