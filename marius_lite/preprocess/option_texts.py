"""Values of options from their texts: the delimiter, the number of partitions, the memory, the kinds of nodes."""

from __future__ import annotations

from marius_lite.errors import UserError
from marius_lite.sizes import parse_bytes

WHITESPACE = "whitespace"
DELIMITER_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "space": " ", "semicolon": ";", "pipe": "|"}
LEAST_MEMORY = 1 << 20
MOST_WORKERS = 4096
KIND_SEPARATOR = ":"
Kinds = tuple[str, str]
"""The names of the kinds that sources and destinations are of."""


def parse_delimiter(text: str) -> str | None:
    """Return one ASCII character or `WHITESPACE`; None for auto. Raises UserError."""
    if text == "auto":
        return None
    if text == WHITESPACE:
        return text
    delimiter = DELIMITER_NAMES.get(text, text)
    if len(delimiter) != 1 or delimiter in '\r\n"' or not delimiter.isascii():
        raise UserError(
            f"--delimiter {text!r}: must be auto, one ASCII character, or one of tab, comma, space, semicolon, pipe, whitespace"
        )
    return delimiter


def parse_partitions(value: str | int) -> int | None:
    """Return the number, from 1 to 1024; None for auto. Raises UserError."""
    if value == "auto":
        return None
    try:
        number = int(value)
    except ValueError:
        number = 0
    if not 1 <= number <= 1024:
        raise UserError(f"--partitions {value}: must be auto or a whole number from 1 to 1024")
    return number


def parse_memory(value: str | int) -> int:
    """Return the bytes. Raises UserError."""
    try:
        number = parse_bytes(value)
    except ValueError as error:
        raise UserError(f"--memory: {error}") from None
    if number < LEAST_MEMORY:
        raise UserError(f"--memory {value}: must be at least 1MiB, for example 4GB")
    return number


def parse_workers(engine: str, value: str | int | None) -> int | None:
    """Return how many workers the engine ray has: as many as given, else 2; None for the engine plain. Raises UserError."""
    if engine == "plain":
        if value is not None:
            raise UserError(f"--workers {value}: --engine plain has none: give --engine ray, or leave it out")
        return None
    try:
        number = int(2 if value is None else value)
    except ValueError:
        number = 0
    if not 1 <= number <= MOST_WORKERS:
        raise UserError(f"--workers {value}: must be a whole number from 1 to {MOST_WORKERS}")
    return number


def parse_kinds(text: str | None, ids: str) -> Kinds | None:
    """Return the names of the two kinds. ``ids``: what --ids asks for. Raises UserError."""
    if text is None:
        return None
    advice = "give two names, of sources and of destinations, for example user,item"
    names = tuple(name.strip() for name in text.split(","))
    if len(names) != 2 or not all(names):
        raise UserError(f"--bipartite {text}: {advice}")
    if names[0] == names[1]:
        raise UserError(f"--bipartite {text}: both kinds have the same name: {advice}, or leave it out where there is one kind")
    if any(KIND_SEPARATOR in name or not name.isprintable() for name in names):
        raise UserError(f"--bipartite {text}: a name has {KIND_SEPARATOR!r} or a character that is not printable: {advice}")
    if ids == "int":
        raise UserError(
            f"--ids int: beside --bipartite {text} ids are texts, such as {names[0]}{KIND_SEPARATOR}7: leave --ids out"
        )
    return names[0], names[1]
