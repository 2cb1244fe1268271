"""How well `predict --probability` is calibrated: fitted on the validation split, measured on the test split.

    python scripts/bench/calibration.py RUN [RUN ...] [--edges 20000] [--first 2000]

Prints for edges of the test split, against as many random ones, the log loss and the expected calibration error (15 bins of equal
width; the means over bins of |share of true edges - mean probability|, weighed by their edges), of 1 / (1 + exp(-score)) and of
the probabilities. Below them, what the probabilities are not: of the first answers to questions of test edges, the share that are
test edges, and their mean probability.
"""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

import numpy as np
import numpy.typing as npt
from machine_facts import cpu_name

from marius_lite.evaluate.answers import Asked, LeftOut, answer
from marius_lite.evaluate.calibration import calibrate, scored_pairs
from marius_lite.evaluate.edges import select_edges
from marius_lite.evaluate.pages import Pages
from marius_lite.evaluate.platt import PlattScaling
from marius_lite.evaluate.queries import Queries
from marius_lite.graph.self_loops import self_loops_are_rare
from marius_lite.tasks.opened_links import OpenedRun, open_run

BINS = 15
Numbers = npt.NDArray[np.float64]


def figures(probability: Numbers, true: Numbers) -> str:
    clipped = probability.clip(1e-12, 1 - 1e-12)
    loss = -(true * np.log(clipped) + (1 - true) * np.log(1 - clipped)).mean()
    place = np.minimum((probability * BINS).astype(int), BINS - 1)
    error = np.abs(np.bincount(place, true - probability, BINS)).sum() / len(true)
    return f"log loss {loss:.4f}, calibration error {error:.4f}"


def first_answers(opened: OpenedRun, pages: Pages, scaling: PlattScaling, count: int) -> str:
    """What is so of the first answers to both questions of ``count`` test edges, edges of train and valid left out."""
    data = opened.dataset
    edges = next(select_edges(data.edges("test"), count, 2, count))
    asked = Queries.of_edges(edges, opened.model.relation_count)
    left_out = LeftOut([data.edges("train"), data.edges("valid")], self_loops_are_rare(data))
    found = answer(pages, opened.model, Asked(asked.side, asked.node, asked.rel), 1, left_out)
    test = {edge for block in select_edges(data.edges("test"), None, 0) for edge in zip(*(c.tolist() for c in block))}
    made = zip(asked.side.tolist(), asked.node.tolist(), asked.rel.tolist(), found.nodes[:, 0].tolist())
    share = np.mean([((node, rel, best) if side == 0 else (best, rel, node)) in test for side, node, rel, best in made])
    probability = scaling.probability(found.scores)
    told = f"{len(asked):,} first answers: {share:.3f} are test edges, mean probability {probability.mean():.3f}"
    odds = probability / (1 - probability) / (data.manifest.nodes - 1)
    return f"{told}; {(odds / (1 + odds)).mean():.3f} if one node in {data.manifest.nodes:,} were right"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--edges", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=2_000)
    a = parser.parse_args()
    print(cpu_name())
    for run in a.runs:
        with closing(open_run(run, None)) as opened:
            data = opened.dataset
            known = [data.edges(split) for split in data.manifest.edges]
            pages = Pages(opened.buffer, data.partitioning, opened.config.model.dim)
            scaling = calibrate(pages, opened.model, data.edges("valid"), known)
            sample = next(select_edges(data.edges("test"), a.edges, 1, a.edges))
            pairs = scored_pairs(pages, opened.model, sample, known, 1)
            scores, true = np.concatenate(pairs).astype(np.float64), np.repeat([1.0, 0.0], [len(each) for each in pairs])
            odds = f"log odds {scaling.slope:.4f} * score {scaling.offset:+.4f}"
            print(f"{run}: {odds}, {len(pairs[0]):,} test edges and as many random")
            print(f"  before  {figures(PlattScaling(1, 0).probability(scores), true)}")
            print(f"  after   {figures(scaling.probability(scores), true)}")
            print(f"  {first_answers(opened, pages, scaling, a.first)}")


main()
