"""Draw charts as SVG that stands inside the page and takes its colours, so that it is light or dark as the page is.

matplotlib draws them. Pages of plotly or bokeh carry a script of 1 to 5 MB and draw when they are opened; these are text of
10 to 100 KB, open at once, print as sharp as they look, and need no script. What they cannot do is zoom: so the numbers that
matter stand in tables beside them.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

from marius_lite.errors import UserError
from marius_lite.printable import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, MUTED, GRID, SURFACE = "#010101", "#010102", "#010103", "#010104"
SERIES = tuple(f"#01020{place}" for place in range(1, 9))
"""Stand for the page's colours, see `page.STYLE`; there are eight of them for series, after which they begin again."""
VARIABLES = {INK: "ink", MUTED: "muted", GRID: "grid", SURFACE: "surface", **{c: f"s{i}" for i, c in enumerate(SERIES, 1)}}
SMALL = (4.4, 2.7)
"""Inches at 72 dots: a chart that is as wide as a phone."""
NUMBERS = re.compile(r' (?:d|x|y|transform)="[^"]*"', re.S)
"""Where an SVG says places, which need no more than a digit after the point."""
ONLY_IDS = re.compile(r' id="(?:[a-z_]+\d*_\d+|[A-Z]\w+_\d+)"')


def require_matplotlib() -> None:
    """Raise UserError where matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UserError("reports are drawn by matplotlib, which is not installed: pip install 'marius-lite[report]'") from None


def chart(draw: Callable[[Axes], object], title: str, size: tuple[float, float] = SMALL) -> str:
    """Return an HTML figure of what ``draw`` draws. ``title``: what it shows."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with rc_context(_settings()):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        draw(axes)
        file = io.StringIO()
        figure.savefig(
            file, format="svg", transparent=True, metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    label = escape(printable(title))
    return f"<figure><figcaption>{label}</figcaption>{_inline(file.getvalue(), label)}</figure>"


def _settings() -> Any:
    return {
        "svg.fonttype": "none",  # letters stay letters: they can be searched and selected
        "svg.hashsalt": "marius-lite",  # the same run gives the same page
        "font.family": "sans-serif",
        "font.size": 10,
        "text.color": INK,
        "text.parse_math": False,  # names of users may have dollars
        "axes.edgecolor": GRID,
        "axes.labelcolor": MUTED,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "grid.color": GRID,
        "grid.linewidth": 0.6,
        "xtick.color": GRID,
        "ytick.color": GRID,
        "xtick.labelcolor": MUTED,
        "ytick.labelcolor": MUTED,
        "lines.linewidth": 1.6,
        "legend.frameon": False,
        "legend.fontsize": 9,
        "path.simplify": False,  # a peak stays a peak
    }


def _inline(svg: str, label: str) -> str:
    """Return the SVG element for a page: in its colours and its font, as wide as there is room."""
    svg = svg[svg.index("<svg") :]
    width, height = re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)[0]
    body = svg[svg.index(">") + 1 :]
    body = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", body, flags=re.S)
    body = re.sub(r"<[^>]*>", lambda tag: _tag(tag[0]), body)  # not what stands between tags: names of users
    body = re.sub(r"\s*\n\s*", "\n", body)
    head = f'<svg xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">'
    return head + body.replace("</svg>\n", "</svg>")


def _tag(tag: str) -> str:
    """Return a tag in the page's colours and font, without what it does not need."""
    tag = re.sub("|".join(VARIABLES), lambda found: f"var(--{VARIABLES[found[0]]})", tag)
    tag = re.sub(r"(font: [\d.]+px) [^;\"]+", r"\1 var(--font)", tag)
    return NUMBERS.sub(lambda found: re.sub(r"(\.\d)\d+", r"\1", found[0]), ONLY_IDS.sub("", tag))
