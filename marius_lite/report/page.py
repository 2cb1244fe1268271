"""Put parts of a page together: one HTML file that needs nothing else, in light and dark, for phones, screens and paper."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from marius_lite.printable import printable

NAMED = re.compile("`([^`]+)`")
STYLE = """
:root { color-scheme: light dark; --font: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  --surface: #ffffff; --page: #f6f6f4; --ink: #171715; --muted: #5c5b57; --grid: #dcdbd6;
  --s1: #2a78d6; --s2: #eb6834; --s3: #1b9e77; --s4: #8b5cd6; --s5: #c98500; --s6: #d43a6f; --s7: #008300; --s8: #7a7a74; }
@media (prefers-color-scheme: dark) { :root {
  --surface: #1d1d1b; --page: #131312; --ink: #f2f1ec; --muted: #b3b1aa; --grid: #3b3a37;
  --s1: #5598e7; --s2: #f08a5d; --s3: #3fbf96; --s4: #ab8bea; --s5: #e0a63a; --s6: #ee7ba0; --s7: #4cb04c; --s8: #a3a29b; } }
@media print { :root { color-scheme: light;
  --surface: #ffffff; --page: #ffffff; --ink: #000000; --muted: #444444; --grid: #cccccc;
  --s1: #2a78d6; --s2: #eb6834; --s3: #1b9e77; --s4: #8b5cd6; --s5: #c98500; --s6: #d43a6f; --s7: #008300; --s8: #7a7a74; }
  details:not([open]) > * { display: block; } figure, tr { break-inside: avoid; } nav { display: none; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 86rem; padding: 1rem; background: var(--page); color: var(--ink);
  font: 15px/1.5 var(--font); }
h1 { font-size: 1.4rem; margin: .2rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2rem 0 .6rem; } h3 { font-size: 1rem; margin: 1.2rem 0 .4rem; overflow-wrap: anywhere; }
p { max-width: 60rem; margin: .4rem 0; overflow-wrap: anywhere; }
section { min-width: 0; } .muted, figcaption, th { color: var(--muted); }
nav a { color: var(--s1); margin-right: 1rem; white-space: nowrap; }
.grid { display: grid; gap: .8rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 18.5rem), 1fr)); margin: .8rem 0; }
figure { margin: 0; min-width: 0; padding: .7rem; background: var(--surface); border: 1px solid var(--grid); border-radius: 8px; }
figure.wide { overflow-x: auto; } figure.wide svg { min-width: 44rem; }
figcaption { font-size: .88rem; margin-bottom: .3rem; } svg { display: block; width: 100%; height: auto; }
.key span { display: inline-block; margin-right: 1rem; } .key i { display: inline-block; width: .8em; height: .8em;
  border-radius: 2px; margin-right: .35em; vertical-align: -.05em; }
.table { overflow-x: auto; background: var(--surface); border: 1px solid var(--grid); border-radius: 8px; margin: .5rem 0; }
.table { width: fit-content; max-width: 100%; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .7rem; border-top: 1px solid var(--grid); vertical-align: top; }
tr:first-child > * { border-top: 0; } th { font-weight: 600; } td.n, th.n { text-align: right; white-space: nowrap; }
td { overflow-wrap: break-word; max-width: 30rem; } td:first-child { min-width: 9rem; }
summary { cursor: pointer; padding: .3rem 0; }
"""


def page(title: str, sections: Iterable[tuple[str, str]]) -> str:
    """Return the whole page. ``sections``: their headings and what is in them; those of nothing are left out."""
    given = [(f"part{i}", heading, body) for i, (heading, body) in enumerate(sections) if body]
    links = " ".join(f'<a href="#{key}">{escape(heading)}</a>' for key, heading, _ in given if heading)
    parts = "".join(
        f'<section id="{key}">{f"<h2>{escape(heading)}</h2>" if heading else ""}{body}</section>\n'
        for key, heading, body in given
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title)}</title><style>{STYLE}</style></head>\n<body><h1>{text(title)}</h1><nav>{links}</nav>\n{parts}</body></html>\n"
    )


def text(value: Any) -> str:
    """Return a value as text of a page. Control characters in it are shown as escapes."""
    return escape(printable(str(value)))


def remark(words: str) -> str:
    """Return words as text of a page, in which names stand between backticks."""
    return NAMED.sub(r"<code>\1</code>", text(words))


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table; nothing without rows. Columns of numbers alone stand on the right."""
    rows = list(rows)
    if not rows:
        return ""
    sides = [_side(column) for column in zip(*rows)]
    lines = "".join(
        "<tr>" + "".join(f"<td{side}>{_cell(value)}</td>" for side, value in zip(sides, row)) + "</tr>" for row in rows
    )
    heads = "".join(f"<th{side}>{remark(name)}</th>" for side, name in zip(sides, head)) if any(head) else ""
    return f'<div class="table"><table>{f"<tr>{heads}</tr>" if heads else ""}{lines}</table></div>'


def _side(column: Iterable[Any]) -> str:
    found = {type(value) for value in column} - {type(None)}
    return ' class="n"' if found and found <= {int, float} else ""


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else text(value)


def paragraph(words: str) -> str:
    """Return a remark."""
    return f'<p class="muted">{remark(words)}</p>'


def details(summary: str, body: str) -> str:
    """Return what is shown once somebody asks for it, and on paper."""
    return f"<details><summary>{remark(summary)}</summary>{body}</details>" if body else ""


def grid(figures: Iterable[str]) -> str:
    """Return figures beside each other, as many as there is room for."""
    shown = "".join(figures)
    return f'<div class="grid">{shown}</div>' if shown else ""
