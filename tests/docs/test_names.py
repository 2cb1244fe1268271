"""Files, modules and classes that the docs name exist."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs"
DOCS = [ROOT / "README.md", *sorted(path for part in ("", "tasks", "performance") for path in (PAGES / part).glob("*.md"))]
PACKAGE = ROOT / "marius_lite"
WITHIN = [ROOT, PAGES, PAGES / "performance", PACKAGE, *(path for path in PACKAGE.rglob("*") if path.is_dir())]
OF_USERS = {"Class", "Data", "HeteroData", "MatrixMarket"}
"""Names in capitals that are others': of a user's module, of torch_geometric, of a format."""
FILES = {"json", "jsonl", "parquet", "py", "yaml"}


def text_of(doc):
    return doc.read_text()


def settings():
    return set(re.findall(r"^\| `([\w.]+)` \|", (ROOT / "docs/configuration.md").read_text(), re.M))


@pytest.mark.parametrize("doc", DOCS, ids=lambda doc: doc.stem)
def test_files_exist(doc):
    named = set(re.findall(r"(?<![\w./-])[\w-][\w./-]*\.(?:py|h|cpp|cu|cuh|md)\b", text_of(doc)))
    named |= set(re.findall(r"\bdocs/examples/[\w-]+\.yaml", text_of(doc)))
    assert [name for name in sorted(named) if not any((folder / name).exists() for folder in WITHIN)] == []


@pytest.mark.parametrize("doc", DOCS, ids=lambda doc: doc.stem)
def test_modules_exist(doc):
    packages = {path.name for path in PACKAGE.iterdir() if path.is_dir()} | {path.stem for path in PACKAGE.glob("*.py")}
    named = {
        name
        for name in re.findall(r"`([a-z_]+(?:\.\w+)+)[`(]", text_of(doc))
        if name.partition(".")[0] in packages and name.rpartition(".")[2] not in FILES
    }
    assert [name for name in sorted(named - settings()) if not resolves(name)] == []


@pytest.mark.parametrize("doc", DOCS, ids=lambda doc: doc.stem)
def test_classes_exist(doc):
    code = "\n".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    spans = " ".join(re.findall("`([^`\n]+)`", text_of(doc)))
    named = set(re.findall(r"(?<![\w.:/-])[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)*(?![\w:/-])", spans)) - OF_USERS
    assert [name for name in sorted(named) if not re.search(rf"^class {name}\b", code, re.M)] == []


def resolves(name):
    """Whether it is a module of the package, or what one of them defines."""
    module, _, inside = name.rpartition(".")
    if (PACKAGE / Path(*name.split("."))).with_suffix(".py").exists() or (PACKAGE / Path(*name.split("."))).is_dir():
        return True
    spec = find_spec(f"marius_lite.{module}")
    return spec is not None and re.search(rf"\b{inside}\b", Path(spec.origin).read_text()) is not None
