"""Only storage knows where the rows of a partition are: other modules name no chunk file, link none and rename none."""

import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "marius_lite"
RULES = {  # what is looked for, and the modules that may have it, each with its reason
    "names of chunk files": (r"""["']c["'] ?[/,]|["'/]c/|\bchunk_(path|folder|directory)\b|\bCHUNKS\b""", {}),
    "hard links": (
        r"\bos\.link\b|\blink_tree\b|\bhardlink_to\b|\bsnapshots\.link\b",
        {"fetch/local.py": "a user's file, in place of a download"},
    ),
    "blocks of files": (
        r"\bread_range\b",
        {
            "preprocess/nodes/features.py": "its spool, which goes when the table is written",
            "preprocess/readers/array_file.py": "a user's file",
            "preprocess/readers/marius_bin.py": "a user's file",
        },
    ),
    "renames": (
        r"\bos\.(rename|replace)\b|\.rename\(|\bfiles\.publish\b",
        {
            "files.py": "the renames of everything but rows: records, links, folders that are whole",
            "export/run.py": "a user's copy, which shares no file with the run",
            "fetch/download.py": "what was downloaded",
            "fetch/local.py": "a user's file, in place of a download",
            "fetch/unpack.py": "what was downloaded",
            "search/index_folder.py": "a whole index, which can be made again",
            "preprocess/disk/place.py": "a whole dataset, under the lock of the command that makes it",
            "preprocess/gather/gather.py": "its spool, which is written again",
            "preprocess/workers/engine.py": "what workers have spooled",
            "preprocess/workers/merging.py": "what workers have spooled",
        },
    ),
}


def found(pattern):
    """The modules outside storage whose code, without comments, has the pattern."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        code = "\n".join(line.partition("  # ")[0] for line in path.read_text().splitlines())
        if not name.startswith("storage/") and re.search(pattern, code):
            yield name


@pytest.mark.parametrize("rule", RULES)
def test_only_storage_touches_the_files_of_rows(rule):
    pattern, allowed = RULES[rule]
    assert set(found(pattern)) == set(allowed)


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("names of chunk files", 'path / "c" / str(k)'),
        ("names of chunk files", 'folder / "sums/c/0/0"'),
        ("names of chunk files", "table.chunk_path(k)"),
        ("names of chunk files", 'Path(array, "c", "0")'),
        ("hard links", "os.link(a, b)"),
        ("hard links", "files.link_tree(a, b)"),
        ("hard links", "a.hardlink_to(b)"),
        ("blocks of files", "read_range(path, 0, out)"),
        ("renames", "os.replace(a, b)"),
        ("renames", "files.publish(a, b)"),
        ("renames", "path.rename(b)"),
    ],
)
def test_the_rules_see_what_they_forbid(rule, code):
    assert re.search(RULES[rule][0], code)
