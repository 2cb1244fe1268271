"""Rules that hold for every module: short files, few parameters; only the command line and the log write to a terminal."""

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent
CODE = sorted(path for folder in ("marius_lite", "scripts", "data_prep") for path in (ROOT / folder).rglob("*.py"))
COMMANDS = ROOT / "marius_lite" / "cli"
MOST_LINES, MOST_PARAMETERS = 350, 8
FOLDERS, SOURCES = (".ci", "csrc", "data_prep", "marius_lite", "scripts", "tests"), ("", ".py", ".c", ".cpp", ".h", ".cu", ".cuh")
NAMES = (ast.Name, ast.Attribute, ast.arg, ast.alias)
WRITES = {"log.py", "progress_bar.py", "metrics/progress.py"}  # what the log prints, and bars where standard error is a terminal


def parameters(function):
    """The names of a function's parameters, without self and cls."""
    given = function.args
    return [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs) if each.arg not in ("self", "cls")]


def test_files_are_short():
    sources = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SOURCES and path.is_file()]
    lines = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in sources}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_functions_have_few_parameters():
    long = []
    for path in CODE:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and len(parameters(node)) > MOST_PARAMETERS:
                if path.parent == COMMANDS and node.name == path.stem:  # a command's parameters are its options
                    continue
                long.append(f"{path.relative_to(ROOT)}:{node.name}")
    assert long == []


def test_only_the_command_line_and_the_log_write_to_standard_output_and_error():
    package = ROOT / "marius_lite"
    for path in sorted(package.rglob("*.py")):
        if path.is_relative_to(COMMANDS) or path.relative_to(package).as_posix() in WRITES:
            continue
        named = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, NAMES)]
        for node in named:
            used = ast.unparse(node)
            assert used not in ("print", "sys.stdout", "sys.stderr"), f"{path}:{node.lineno}: writes past marius_lite.log"
