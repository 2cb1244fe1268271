"""The layout of the Hugging Face Hub: Parquet files in a folder for each table, and a card that says which they are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marius_lite.export.format import ExportFormat, Names
from marius_lite.export.parquet import arrow_table, open_writer

if TYPE_CHECKING:
    from marius_lite.tasks.task import Blocks

FILE_BYTES = 500 << 20  # the Hub advises files of no more
CARD = """---
pretty_name: {title}
configs:
{configs}---

# {title}

Made by marius-lite {version}. Load it with

```python
from datasets import load_dataset

nodes = load_dataset("FOLDER", "nodes", split="train")
```

Each row has a `raw_id`, the name that the node or relation has in the graph's input. What was exported:

```json
{summary}
```
"""


def write_table(folder: Path, name: str, blocks: Blocks, rows: int, names: Names) -> None:
    """Write ``name``/train-i-of-n.parquet, each of about FILE_BYTES."""
    (folder / name).mkdir()
    writer, done, each, files = None, 0, rows, 1
    for ids, columns in blocks:
        table = arrow_table(ids, columns, names)
        if not done:
            each = max(1, FILE_BYTES * len(table) // max(1, table.nbytes))
            files = -(-rows // each)
        while len(table):
            if writer is None:
                path = folder / name / f"train-{done // each:05}-of-{files:05}.parquet"
                writer = open_writer(path, table.schema, names)
            part, table = table.slice(0, each - done % each), table.slice(each - done % each)
            writer.write_table(part, row_group_size=len(part))
            done += len(part)
            if done % each == 0 or done == rows:
                writer.close()
                writer = None


def write_card(folder: Path, summary: Mapping[str, Any]) -> None:
    """Write README.md. The first table is the one that is loaded where none is named."""
    configs = "".join(
        f"- config_name: {name}\n  data_files: {name}/train-*.parquet\n" + ("  default: true\n" if at == 0 else "")
        for at, name in enumerate(summary["tables"])
    )
    shown = {key: value for key, value in summary.items() if key not in ("tables", "program_version")}
    title = f"Results for the {summary['nodes']:,} nodes of a graph"
    card = CARD.format(title=title, configs=configs, version=summary["program_version"], summary=json.dumps(shown, indent=1))
    (folder / "README.md").write_text(card, encoding="utf-8")


FORMAT = ExportFormat(write_table, write_card)
