"""Make foreign text, such as raw ids and names in archives, safe for a terminal."""

from __future__ import annotations

import re

UNPRINTABLE = re.compile(
    "[\0-\x1f\x7f-\x9f"  # C0, DEL, C1: a terminal obeys them
    "\ud800-\udfff"  # bytes of names that are not UTF-8, which cannot be encoded
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # they change the direction of what follows
    "\u2028\u2029\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"  # line ends and marks that cannot be seen
)


def printable(text: str) -> str:
    r"""Return ``text`` on one line. Characters that a terminal obeys, or that hide or move others, become escapes: ``\x1b``."""
    return UNPRINTABLE.sub(lambda found: ascii(found[0])[1:-1], text)
