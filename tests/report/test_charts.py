"""What users call things stands in charts as they wrote it, whatever it looks like."""

import re
from html import unescape
from xml.dom.minidom import parseString

import pytest

pytest.importorskip("matplotlib", reason="reports need the extra `report`")
from marius_lite.report.charts import INK, chart

NAMES = ["#010109", INK, "font: 10px serif", "</text><script>", "<!-- x -->", "\"&'", 'id="DejaVuSans_1" d="0.123"', "$x$"]


def test_names_stay_and_lead_out_of_nothing():
    def draw(axes):
        axes.barh(range(len(NAMES)), 1, color=INK)
        axes.set_yticks(range(len(NAMES)), NAMES)

    drawn = chart(draw, NAMES[3])
    parseString(drawn)
    shown = [unescape(each) for each in re.findall(r"<text[^>]*>([^<]*)</text>", drawn)]
    assert [name for name in NAMES if name not in shown] == []
    assert "<script" not in drawn
    assert not re.search(r"<[^>]*#0101\d\d", drawn)  # the stand-ins of colours
