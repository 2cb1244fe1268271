"""marius-lite predict"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from marius_lite.cli import options


def predict(run: options.Run,
            queries: Annotated[Path, typer.Option("--queries", help="Text, one query a line, tab-separated raw ids with ? for "
                                                  "what is asked: `src rel ?` or `? rel dst`.")],
            topk: Annotated[int, typer.Option(min=1, help="Answers to each query.")] = 10,
            known: Annotated[bool, typer.Option("--known", help="Also give answers that edges of the dataset give.")] = False,
            checkpoint: options.Checkpoint = None, as_json: options.Json = False) -> None:
    """The best answers to queries, by a checkpoint's model."""
    import json

    from marius_lite.predict import predict_links

    answered = predict_links(run, queries, topk, known, checkpoint)
    if as_json:
        print(json.dumps({"queries": answered}))
        return
    for query in answered:
        asked = "\t".join("?" if part is None else str(part) for part in (query["src"], query["rel"], query["dst"]))
        for rank, answer in enumerate(query["answers"], 1):
            print(f"{asked}\t{rank}\t{answer['id']}\t{answer['score']:.4f}")
