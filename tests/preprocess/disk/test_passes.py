"""The keys of progress.json stay, so that a command which an earlier state of the program began goes on."""

import pytest
from pydantic import TypeAdapter

from marius_lite.preprocess.disk.sort import SortedRun
from marius_lite.preprocess.edges.writing import Written
from marius_lite.preprocess.gather.gather import Gathered
from marius_lite.preprocess.ids.numbering import Numbering
from marius_lite.preprocess.nodes.node_data import NodeLabels
from marius_lite.preprocess.nodes.node_types import PlacedTypes
from marius_lite.preprocess.nodes.tables import Tables

DICTIONARIES = {"kind": {}, "folder": {}, "bound": {}, "runs": {"folder": {}, "kind": {}, "count": {}, "bytes": {}}}
KEYS, SOURCES = {"path": {}, "segments": {}}, {"name": {}, "size": {}, "crc32c": {}}
WRITTEN = {  # what passes return, and its keys in progress.json
    Gathered: {
        "spool": {},
        "shape": {"relations": {}, "carried": {}},
        "blocks": {"number": {}, "split": {}, "dictionary": {}, "count": {}, "checksum": {}, "shard": {}},
        "dictionaries": DICTIONARIES,
        "relations": {"names": {}, "force_text": {}},
        "node_lists": {"rows": KEYS, "sets": KEYS, "labels": KEYS},
        "node_types": {"keys": KEYS, "codes": {}, "names": {}},
        "seen": {
            "rows": {},
            "comments": {},
            "skipped": {},
            "examples": {},
            "self_loops_dropped": {},
            "columns": {},
            "carried": {},
            "sources": SOURCES,
            "read_as": {},
            "misread": {},
            "titles": {},
            "announced": {},
        },
    },
    Numbering: {"dictionaries": DICTIONARIES, "raw_ids": DICTIONARIES["runs"], "numbers": {}},
    NodeLabels: {"labels": {}, "codes": {}, "row_ids": {}, "counts": {}, "labelled": {}},
    PlacedTypes: {"codes": {}, "names": {}, "counts": {}},
    Tables: {"files": {}, "said": {}, "sources": SOURCES},
    SortedRun: {"length": {}, "checksum": {}},
    Written: {
        "files": {},
        "degrees": {
            "out": {},
            "into": {},
            "without_edges": {},
            "unseen": {},
            "unseen_edges": {},
            "both": {},
            "loops_by_chance": {},
        },
        "runs": {},
    },
}


def keys_of(schema, classes):
    """The keys of what a schema describes, each with the keys below it; those of a list or an option are those of its items."""
    if "$ref" in schema:
        return keys_of(classes[schema["$ref"].rpartition("/")[2]], classes)
    if "properties" in schema:
        return {name: keys_of(inner, classes) for name, inner in schema["properties"].items()}
    inside = [*schema.get("anyOf", ()), *(schema[name] for name in ("items", "additionalProperties") if name in schema)]
    return {name: below for inner in inside if isinstance(inner, dict) for name, below in keys_of(inner, classes).items()}


@pytest.mark.parametrize("kind", WRITTEN, ids=lambda kind: kind.__name__)
def test_keys_of_results_stay(kind):
    schema = TypeAdapter(kind).json_schema(mode="serialization")
    assert keys_of(schema, schema.get("$defs", {})) == WRITTEN[kind]
