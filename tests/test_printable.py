"""What a terminal would obey never reaches it; everything else stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.printable import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", r"\x1b[31mred"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\x9b2J\x7f", r"\x9b2J\x7f"),
        ("\u202eevil", r"\u202eevil"),
        ("\u2066x\u2069", r"\u2066x\u2069"),
        ("\udcff", r"\udcff"),
        ("a\0b", r"a\x00b"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_what_is_escaped(text, shown):
    assert printable(text) == shown


@given(st.text(st.characters(categories=["L", "M", "N", "P", "S", "Zs"])))
def test_letters_of_all_scripts_stay(text):
    assert printable(text) == text


@given(st.text(st.characters()))
def test_the_result_is_one_line_that_can_be_encoded_and_stays(text):
    shown = printable(text)
    assert printable(shown) == shown
    assert len(shown.encode().decode().splitlines()) <= 1
    assert not {*map(ord, shown)} & {*range(32), *range(127, 160), *range(0x202A, 0x202F)}
