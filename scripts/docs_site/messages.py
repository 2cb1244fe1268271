"""The catalogue of error messages: each that the code can raise on purpose, with the part of the program that raises it."""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "marius_lite"
KINDS = {"UserError": 2, "MemoryWanted": 2, "RunError": 1, "DiskFull": 1, "NotFinite": 1}
"""The errors, and the exit code of each."""
GROUPS = {
    "preprocess": (
        "Raw files are read, or a dataset is made of them.",
        "The message names file and line, or the option. The same command goes on where it stopped.",
    ),
    "graph": (
        "A dataset is opened or read.",
        "`marius-lite info DATASET --verify` reads all of it. What is damaged comes anew from `preprocess`.",
    ),
    "config": (
        "A setting, or several together, cannot be.",
        "The message names the key. [configuration.md](configuration.md) has what is allowed; `plan` tries it.",
    ),
    "ordering": (
        "The number of partitions and of those in memory does not fit the ordering.",
        "Change `storage.capacity`, or `repartition`.",
    ),
    "storage": (
        "Rows on disk cannot be read, or are not what was written.",
        "`resume` goes on from a checkpoint. A disk that fails is the machine's.",
    ),
    "checkpoint": (
        "A run's folder is read or written.",
        "[run-format.md](run-format.md) says what is in it. Another checkpoint can be named with `--checkpoint`.",
    ),
    "device": ("A GPU is asked for.", "`marius-lite info` says what was found. `--set device=cpu` needs none."),
    "sampling": ("Neighbours are drawn.", "Encoders need a dataset made with `preprocess --adjacency in`."),
    "train": (
        "A run starts, goes on or is evaluated.",
        "Settings that a run has fixed need a new run. Diverged numbers need a lower learning rate.",
    ),
    "tasks": (
        "The task does not fit the dataset or the model.",
        "The message names what is missing; most of it is an option of `preprocess`.",
    ),
    "encode": ("An encoder meets a dataset or a device that it cannot use.", "The message names the setting."),
    "rows": ("Rows are trained.", "The message names the setting, or the file."),
    "predict": ("Queries are read and answered.", "The message names file and line."),
    "export": ("Results are written to files.", "The message names the folder or the format."),
    "pyg": ("A loader gets arguments that it does not take.", "[pyg.md](pyg.md) lists them, and what is different."),
}
OTHERS = ("Wherever the message names.", "The message says what to do.")


@cache
def found() -> list[tuple[str, str, str]]:
    """(part of the program, kind of error, message with «name» where a value stands) of all messages that are written out."""
    return list(_found())


def _found() -> Iterator[tuple[str, str, str]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text())
        if path.is_relative_to(PACKAGE / "config"):
            yield from (("config", "UserError", text) for text in complaints(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.args and getattr(node.func, "id", "") in KINDS:
                text = message(node.args[0])
                if re.search("[a-z]{3}.* ", re.sub("«[^»]*»", "", text)):
                    yield path.relative_to(PACKAGE).parts[0].removesuffix(".py"), node.func.id, text  # type: ignore[attr-defined]


def complaints(node: ast.AST) -> Iterator[str]:
    """What rules say of settings: texts that name a key, and after a colon what to do. They are gathered before one is raised."""
    if isinstance(node, ast.keyword) and node.arg == "description":
        return
    text = message(node) if isinstance(node, ast.Constant | ast.JoinedStr) else ""
    if "`" in text and ": " in text and "\n" not in text:
        yield text
    for inner in ast.iter_child_nodes(node) if not isinstance(node, ast.JoinedStr) else ():
        yield from complaints(inner)


def message(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(map(message, node.values))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return message(node.left) + message(node.right)
    return f"«{ast.unparse(node.value if isinstance(node, ast.FormattedValue) else node)}»"


def pattern(text: str) -> re.Pattern[str]:
    """What the message looks like when it is shown."""
    return re.compile(".*".join(map(re.escape, re.split("«[^»]*»", text))), re.S)


def page() -> str:
    parts = {
        part: sorted({(kind, text) for at, kind, text in found() if at == part}) for part in sorted({at for at, _, _ in found()})
    }
    lines = [
        "# Errors", "",
        "A command that fails prints one line: what was found, where, what is allowed, what to do. Exit code 2: "
        "the input or a setting "
        "is wrong. Exit code 1: the run failed although its input was right. Exit code 130: Ctrl-C. This page "
        "is made of the code. «...» stands for what a message fills in. Search it for words of the message that you got.", "",
    ]  # fmt: skip
    for part, messages in parts.items():
        cause, remedy = GROUPS.get(part, OTHERS)
        lines += [f"## {part}", "", f"**When:** {cause} **What helps:** {remedy}", ""]
        lines += [f"- <small>exit {KINDS[kind]}</small> {escaped(text)}" for kind, text in messages]
        lines.append("")
    return "\n".join(lines)


def escaped(text: str) -> str:
    """As markdown that shows the text as it is."""
    return re.sub(r"([\\`*_\[\]{}#|~])", r"\\\1", html.escape(" ".join(text.split()), quote=False))
