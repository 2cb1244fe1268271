"""What is done to good bytes, and values that programs stumble over. Everything depends on the generator alone."""

import re
from random import Random

TOKENS = [
    text.encode("utf-8", "surrogatepass")
    for text in (
        "",
        " ",
        "0",
        "1",
        "7",
        "-1",
        "-0",
        "+1",
        "01",
        "1.0",
        "1e5",
        "1e999",
        "0x10",
        "nan",
        "inf",
        "1_000",
        "\u0661",
        "9" * 25,
        "9" * 4400,
        "-" + "1" * 5000,
        "0" * 5000,
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775809",
        "18446744073709551616",
        "4294967296",
        "\u00a0",
        "1\u00a02",
        "\u2028",
        "\x00",
        "\x0b",
        "1\x0b2",
        "\x1f",
        "1\x1f2",
        "\x1b[31m",
        "\u202eevil",
        "\x9b2J",
        "é",
        "e\u0301",
        "\ufeff",
        "\ud800",
        '"',
        '""',
        '"a',
        '"a,b"',
        "'",
        "#",
        "%",
        "c",
        "p",
        "p tw 3 2",
        "?",
        "<a>",
        "<a> <b> <c> .",
        "_:b",
        '"lit"@en',
        "\r",
        "\r\n",
        "\n",
        "\n\n",
        "\t",
        ",",
        ";",
        "|",
        "None",
        "true",
        "src",
        "weight",
        "\\",
        "x" * 70_000,
    )
] + [
    b"\xff",
    b"\xe9",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\xc0\x80",
    b"\xf4\x90\x80\x80",
    b"PK\x03\x04",
    b"\x93NUMPY",
    b"PAR1",
    b"\x1f\x8b",
]
NUMBERS = [
    0,
    1,
    -1,
    2,
    3,
    7,
    255,
    256,
    2**15,
    2**31 - 1,
    2**31,
    2**32,
    2**53 + 1,
    2**62,
    2**63 - 1,
    2**63,
    2**64,
    -(2**63),
    10**30,
]


def damaged(rng: Random, data: bytes, tokens: bool = False) -> bytes:
    """One to three things done to ``data``; ``tokens``: it is text, of which words are replaced too."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = rng.choice(BYTES + (TEXTS * 3 if tokens else ()))(rng, data)
    return data


def _flip(rng: Random, data: bytes) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def _set(rng: Random, data: bytes) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))]) + data[at + 1 :]


def _zero(rng: Random, data: bytes) -> bytes:
    first, last = _range(rng, data)
    return data[:first] + bytes(last - first) + data[last:]


def _noise(rng: Random, data: bytes) -> bytes:
    first, last = _range(rng, data)
    return data[:first] + rng.randbytes(last - first) + data[last:]


def _cut(rng: Random, data: bytes) -> bytes:
    return data[: rng.choice((0, 1, rng.randint(0, len(data)), max(0, len(data) - rng.randint(1, 8))))]


def _without(rng: Random, data: bytes) -> bytes:
    first, last = _range(rng, data)
    return data[:first] + data[last:]


def _twice(rng: Random, data: bytes) -> bytes:
    first, last = _range(rng, data)
    return data[:last] + data[first:]


def _more(rng: Random, data: bytes) -> bytes:
    return data + rng.choice((b"\0", b"\n", data[:64], rng.randbytes(rng.randint(1, 64))))


def _word(rng: Random, data: bytes) -> bytes:
    """A word replaced by a token."""
    words = list(re.finditer(rb"[^\s,\"'{}\[\]:]+", data))
    if not words:
        return data
    word = rng.choice(words)
    return data[: word.start()] + rng.choice(TOKENS) + data[word.end() :]


def _number(rng: Random, data: bytes) -> bytes:
    numbers = list(re.finditer(rb"-?\d+", data))
    if not numbers:
        return data
    number = rng.choice(numbers)
    near = [int(number[0]) + 1, int(number[0]) - 1] if len(number[0]) < 20 else []
    return data[: number.start()] + str(rng.choice(NUMBERS + near * 5)).encode() + data[number.end() :]


def _insert(rng: Random, data: bytes) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] + rng.choice(TOKENS) + data[at:]


def _lines(rng: Random, data: bytes) -> bytes:
    """Lines in another order, one twice, or one gone."""
    lines = data.splitlines(keepends=True)
    if len(lines) < 2:
        return data
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[one : one + 1] = rng.choice(([], [lines[one]] * 2, [lines[other]]))
    return b"".join(lines)


def _range(rng: Random, data: bytes) -> tuple[int, int]:
    first = rng.randint(0, len(data))
    return first, min(len(data), first + rng.choice((1, 2, 4, 8, 64, 4096)))


BYTES = (_flip, _flip, _flip, _set, _zero, _noise, _cut, _without, _twice, _more)
TEXTS = (_word, _number, _insert, _lines)
