"""The types of the native core: the stub says what the module is, and no array is ever copied on the way in."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from marius_lite import _native

ROOT = Path(__file__).parents[2]
STUB = (ROOT / "marius_lite" / "_native.pyi").read_text()
ARRAY = re.compile(r"(\w+): (?:Sequence\[)?Annotated\[NDArray\[numpy\.(\w+)\]")
OTHER = {
    "float32": "float64",
    "float64": "float32",
    "int64": "int16",
    "int32": "int16",
    "int8": "int16",
    "uint8": "int16",
    "uint16": "int32",
    "uint32": "int16",
    "uint64": "int16",
    "bool": "int16",
}
"""A type that no overload takes in place of each."""
FITTING = {
    "RefinePass": {"loads": np.zeros((2, 4), np.int64), "room": np.zeros((2, 4), np.int64)},
    "ListsBetween": {"begin": 0, "end": 3, "nodes": 3},
    "HeldRows": {"rows": np.arange(3)},
}
"""Arguments that make an object, where those of `example` do not."""


def signatures():
    """(name, line of the stub) of every function and method that takes an array."""
    holder = ""
    for line in STUB.splitlines():
        if found := re.match(r"class (\w+)", line):
            holder = f"{found[1]}."
        elif line.startswith("def "):
            holder = ""
        if (found := re.match(r"\s*def (\w+)\(", line)) and ARRAY.search(line):
            yield holder + found[1], line


def test_the_stub_is_what_the_module_says():
    done = subprocess.run([sys.executable, ROOT / "scripts" / "native_stub.py", "--check"])
    assert done.returncode == 0, "run scripts/native_stub.py, and look at what changes"


def test_every_name_is_in_the_stub():
    public = {name for name in dir(_native) if not name.startswith("_")}
    assert public == set(re.findall(r"^(?:def |class )?(\w+)(?=[(:])", STUB, re.MULTILINE))


@pytest.mark.parametrize("name", sorted({name for name, _ in signatures()}))
@pytest.mark.parametrize("wrong", ["strided", "type"])
def test_arrays_are_refused_not_copied(name, wrong):
    """Every second element of another array, or numbers of another type, in place of each array: a copy would lose what is
    written to it."""
    holder, _, method = name.rpartition(".")
    if holder == "CudaLibrary":
        pytest.skip("a method of the CUDA library, which cannot be opened without its file")
    tried = 0
    for line in (line for each, line in signatures() if each == name):
        for parameter in parameters(line):
            found = ARRAY.match(parameter)
            if found and (wrong == "type" or "order='C'" in parameter):
                tried += 1
                with pytest.raises(TypeError, match="incompatible function arguments"):
                    call(holder, method, line, found[1], wrong)
    assert tried


def call(holder, method, line, array, wrong):
    """Call a function with arguments of the right types, but for one array."""
    arguments = examples(line)
    given = arguments[array]
    right = given[0] if isinstance(given, list) else given
    changed = right.astype(OTHER[right.dtype.name]) if wrong == "type" else strided(right)
    arguments[array] = [changed] if isinstance(given, list) else changed
    if method == "__init__":
        return getattr(_native, holder)(**arguments)
    return getattr(instance(holder) if holder else _native, method)(**arguments)


def instance(holder):
    return getattr(_native, holder)(**examples(next(constructors(holder))) | FITTING.get(holder, {}))


def constructors(holder):
    inside = False
    for line in STUB.splitlines():
        if line.startswith("class "):
            inside = line.startswith(f"class {holder}:")
        if inside and "def __init__(" in line:
            yield line


def strided(array):
    every = np.zeros([2 * size for size in array.shape], array.dtype)[tuple(slice(None, None, 2) for _ in array.shape)]
    assert not every.flags.c_contiguous
    return every


def examples(line):
    return {
        key: example(kind.partition(" = ")[0])
        for key, _, kind in (part.partition(": ") for part in parameters(line))
        if key not in ("self", "*")
    }


def parameters(line):
    """The parameters of a stub's line, split at commas outside of brackets."""
    inside, depth, parts = line[line.index("(") + 1 : line.rindex(")")], 0, [""]
    for letter in inside:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def example(kind):
    if found := re.search(r"NDArray\[numpy\.(\w+)\], dict\((?:shape=\(([^)]*)\))?", kind):
        dimensions = (found[2] or "None").count("None")
        array = np.zeros((4,) * dimensions, found[1])
        return [array] if kind.startswith("Sequence[Annotated") else array
    if kind.startswith("Sequence"):
        return []
    return {"int": 1, "float": 1.0, "bool": False, "str": "x"}.get(kind.split(" ")[0])
