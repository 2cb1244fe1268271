"""Each module of the packages that train has a test of its own name, which states its properties."""

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "marius_lite"
WITHOUT = {  # modules that do nothing by themselves, each with its reason
    "tasks/task.py": "protocols: the two tasks are tested, and a third in test_toy_task.py"
}


def modules(folder):
    return [path for path in sorted((PACKAGE / folder).rglob("*.py")) if path.name != "__init__.py"]


@pytest.mark.parametrize("folder", ["encode", "metrics", "processes", "rows", "tasks", "train", "warm"])
def test_each_module_has_its_namesake(folder):
    missing = [
        name
        for path in modules(folder)
        if (name := path.relative_to(PACKAGE).as_posix()) not in WITHOUT
        and not (TESTS / Path(name).parent / f"test_{path.name}").exists()
    ]
    assert missing == []


def test_what_has_none_is_there_and_has_none():
    for name in WITHOUT:
        assert (PACKAGE / name).exists()
        assert not (TESTS / Path(name).parent / f"test_{Path(name).name}").exists()
