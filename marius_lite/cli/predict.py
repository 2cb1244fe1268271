"""marius-lite predict"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from marius_lite.cli import options
from marius_lite.printable import printable


def predict(run: options.Run,
            queries: Annotated[Path, typer.Option("--queries", help="Text, one query a line, tab-separated raw ids with ? for "
                                                  "what is asked: `src rel ?` or `? rel dst`.")],
            topk: Annotated[int, typer.Option(min=1, help="Answers to each query.")] = 10,
            known: Annotated[bool, typer.Option("--known", help="Also give answers that edges of the dataset give.")] = False,
            checkpoint: options.Checkpoint = None, as_json: options.Json = False, allow_code: options.AllowCode = False) -> None:
    """The best answers to queries, by a checkpoint's model."""
    import json

    from marius_lite.predict import predict_links

    answered = predict_links(run, queries, topk, known, checkpoint)
    if as_json:
        print(json.dumps({"queries": answered}))
        return
    shown = printable if sys.stdout.isatty() else str  # a file or another program gets ids as they are
    for query in answered:
        asked = ["?" if part is None else str(part) for part in (query["src"], query["rel"], query["dst"])]
        for rank, answer in enumerate(query["answers"], 1):
            print("\t".join([*map(shown, asked), str(rank), shown(str(answer["id"])), f"{answer['score']:.4f}"]))
