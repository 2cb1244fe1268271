"""What mkdocs does for this site besides: pages that are made of the code, and a navigation that takes in every page."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(ROOT))  # last: an installed package has what is compiled, which the checkout may lack

import messages  # noqa: E402
import pictures  # noqa: E402
import reference  # noqa: E402
from mkdocs.structure.files import File, Files  # noqa: E402

SECTIONS = {
    "Start": ["index.md", "install.md", "tutorial.md"],
    "Tasks": ["tasks/*", "pyg.md", "notebooks/*"],
    "Understand": ["concepts.md", "design.md", "comparison.md", "extend.md", "gpu-choices.md"],
    "Measurements": ["performance.md", "performance/*", "gpu_check/*"],
    "Reference": ["*"],
}
"""The pages of each section, or patterns of them. A page belongs to the first that names it: a new one needs no line here."""


def on_files(files: Files, config: Any) -> Files:
    for name, content in made():
        files.append(File.generated(config, name, content=content))
    left = sorted(file.src_uri for file in files.documentation_pages())
    config["nav"] = []
    for section, patterns in SECTIONS.items():
        pages = [page for pattern in patterns for page in left if Path(page).match(pattern)]
        pages = list(dict.fromkeys(pages))
        left = [page for page in left if page not in pages]
        config["nav"].append({section: pages})
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links to files outside of docs/ are no links here: their names are enough."""
    return re.sub(r"\[([^\]]+)\]\(\.\./(?!.*\.md\))[^)]*\)", r"`\1`", markdown)


def made() -> Iterator[tuple[str, str]]:
    """(name, text) of each page and picture that is made of the code."""
    yield "site.css", "td:first-child code { white-space: nowrap; }\n"  # keys of settings stay whole
    yield "errors.md", messages.page()
    yield "api.md", reference.page()
    yield "changelog.md", (ROOT / "CHANGELOG.md").read_text().replace("](docs/", "](")
    for name, picture in pictures.all_of_them().items():
        yield f"pictures/{name}.svg", picture
    for notebook in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        yield f"notebooks/{notebook.stem}.md", as_page(notebook)


def as_page(notebook: Path) -> str:
    """The text and code of a notebook. What it prints is not kept in it: it is run to see that it works."""
    cells = json.loads(notebook.read_text())["cells"]
    parts = [
        "".join(cell["source"]) if cell["cell_type"] == "markdown" else f"```python\n{''.join(cell['source'])}\n```"
        for cell in cells
    ]
    return "\n\n".join([*parts, f"[The notebook]({notebook.name})."])
