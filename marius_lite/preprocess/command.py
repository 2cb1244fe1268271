"""What tells one command from another. The same command goes on where it was interrupted.

An input counts as unchanged while its name, size, inode, times of change and a checksum of samples of it are the same. So the
file system's own record of changes is trusted (ctime, which no program sets), beside samples of the bytes.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import marius_lite
from marius_lite._native import crc32c
from marius_lite.files import reading
from marius_lite.preprocess.inputs.on_disk import is_put_there
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.folders import announced_nodes
from marius_lite.preprocess.readers.marius_bin import FACTS, is_marius_bin
from marius_lite.preprocess.readers.source import InputFile, locate
from marius_lite.preprocess.standard_input import is_spooled

STRETCHES, STRETCH_BYTES = 16, 1 << 12  # of each file, the first and the last among them


def command_digest(options: Options, inputs: Sequence[InputFile]) -> str:
    """Return a checksum of the options that shape the dataset, and of the input files as they are now, with what stands beside
    them."""
    shaping = dataclasses.replace(options, memory=0, output=options.output.absolute(), overwrite=False, workers=None)
    given = (options.features, options.labels, options.node_ids, options.node_types, *options.node_lists.values())
    node_files = [file if file.exists() else locate(file)[0] for file in given if file is not None]
    paths = [*(file.path for file in inputs), *node_files]
    paths += [facts for path in paths if is_marius_bin(path) and (facts := path.parent.parent / FACTS).exists()]
    whole = [file for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path]) if file.is_file()]
    states = [_state(file) for file in whole]
    nodes = [announced_nodes(path) for path in paths if path.is_file()]
    return hashlib.sha256(repr((marius_lite.__version__, shaping, states, nodes)).encode()).hexdigest()


def _state(file: Path) -> tuple[Any, ...]:
    """Return what tells whether a file was changed, without reading all of it."""
    with reading(file), file.open("rb") as opened:
        facts = os.fstat(opened.fileno())
        last = max(facts.st_size - STRETCH_BYTES, 0)
        places = sorted({last * place // (STRETCHES - 1) for place in range(STRETCHES)})
        stretches = b"".join(os.pread(opened.fileno(), STRETCH_BYTES, place) for place in places)
        sample = crc32c(np.frombuffer(stretches, np.uint8))
    # What is no file is put on disk anew each time. The time of change of its file is a checksum of all of it.
    changed = () if is_spooled(file) or is_put_there(file) else (facts.st_ino, facts.st_ctime_ns)
    return (str(file.resolve()), facts.st_size, facts.st_mtime_ns, sample, *changed)
