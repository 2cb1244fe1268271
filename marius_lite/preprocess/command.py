"""What tells one command from another: the same one goes on where it was interrupted."""

from __future__ import annotations

import dataclasses
import hashlib

import marius_lite
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.folders import nodes_said
from marius_lite.preprocess.readers.marius_bin import FACTS, is_marius_bin
from marius_lite.preprocess.readers.source import find_files, locate


def command_digest(options: Options) -> str:
    """Of the options but those that do not shape the dataset, and of the files as they are now, with what stands beside them."""
    shaping = dataclasses.replace(options, memory=0, output=options.output.absolute(), overwrite=False)
    given = (options.features, options.labels, options.node_ids, options.node_types, *options.node_lists.values())
    node_files = [file if file.exists() else locate(file)[0] for file in given if file is not None]
    paths = [file.path for file in find_files(options)] + node_files
    paths += [facts for path in paths if is_marius_bin(path) and (facts := path.parent.parent / FACTS).exists()]
    whole = [file for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path])]
    inputs = [(str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns) for file in whole]
    said = [nodes_said(path) for path in paths if path.is_file()]
    return hashlib.sha256(repr((marius_lite.__version__, shaping, inputs, said)).encode()).hexdigest()
