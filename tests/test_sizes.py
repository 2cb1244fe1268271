"""Sizes as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.sizes import parse_bytes


@given(st.integers(0, 10**15), st.sampled_from(["B", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"]))
def test_parse_bytes_multiplies(number, unit):
    factor = (1024 if "i" in unit else 1000) ** " KMGT".index(unit[0] if len(unit) > 1 else " ")
    assert parse_bytes(f"{number} {unit}") == int(float(number) * factor)


@pytest.mark.parametrize("text", ["", "GB", "four", "4XB", "4 4", "-5B", [4], {}, None, float("inf"), float("nan")])
def test_parse_bytes_refuses(text):
    with pytest.raises(ValueError, match="not a size"):
        parse_bytes(text)
