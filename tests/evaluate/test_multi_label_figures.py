"""Figures where nodes have several classes, against their definitions."""

import os

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_ranked_classes import by_pairs, by_thresholds

from marius_lite.errors import RunError
from marius_lite.evaluate.multi_label import MultiLabelFigures


def f1(has, said):
    right = int((has & said).sum())
    precision, recall = right / said.sum() if said.sum() else 0, right / has.sum() if has.sum() else 0
    return 2 * precision * recall / (precision + recall) if right else 0.0


def near(value):
    return None if value is None else pytest.approx(value)


def mean(values):
    return near(np.mean(values)) if values else None


@given(st.integers(2, 5), st.integers(0, 30), st.integers(1, 7), st.integers(0, 1000))
@settings(max_examples=80, deadline=None)
def test_equal_to_the_definition_however_streamed(tmp_path_factory, classes, nodes, batch, seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(-2, 3, (nodes, classes)).astype(np.float32)
    labels = rng.integers(0, 2, (nodes, classes)).astype(np.int8)
    labels[rng.random(nodes) < 0.2] = -1
    folder = tmp_path_factory.mktemp("odds")
    with MultiLabelFigures(nodes, classes, folder) as figures:
        for start in range(0, nodes, batch):
            figures.add(scores[start : start + batch], labels[start : start + batch])
        found = figures.summary("valid", [f"c{c}" for c in range(classes)])
    assert os.listdir(folder) == []
    scores, labels = scores[labels[:, 0] >= 0], labels[labels[:, 0] >= 0]
    has, said, count = labels == 1, scores >= 0, len(labels)
    occurs = [c for c in range(classes) if (has | said)[:, c].any()]
    told = [c for c in range(classes) if 0 < has[:, c].sum() < count]
    loss = torch.nn.functional.binary_cross_entropy_with_logits(*(torch.from_numpy(each).double() for each in (scores, labels)))
    areas = {c: by_pairs(scores[:, c], has[:, c]) for c in told}
    precisions = {c: by_thresholds(scores[:, c], has[:, c]) for c in told}
    assert found == {
        "split": "valid",
        "accuracy": near((has == said).all(1).mean() if count else None),
        "macro_f1": mean([f1(has[:, c], said[:, c]) for c in occurs]),
        "micro_f1": near(f1(has, said) if occurs else None),
        "log_loss": near(float(loss) if count else None),
        "roc_auc": mean(list(areas.values())),
        "average_precision": mean(list(precisions.values())),
        "count": count,
        "classes": len(occurs),
        "given_from": 0.5,
        "per_class": {
            f"c{c}": {
                "f1": near(f1(has[:, c], said[:, c]) if c in occurs else None),
                "roc_auc": near(areas.get(c)),
                "average_precision": near(precisions.get(c)),
                "count": int(has[:, c].sum()),
            }
            for c in range(classes)
        },
    }


def test_large_scores_lose_nothing(tmp_path):
    with MultiLabelFigures(4, 2, tmp_path) as figures:
        figures.add(np.float32([[1000, -1000], [1001, 90], [-2000, 91], [999, -1]]), np.int8([[1, 0], [1, 0], [0, 1], [0, 0]]))
        found = figures.summary("test", ["a", "b"])
    assert found["log_loss"] == pytest.approx((999 + 90 + np.log1p(np.exp(-1))) / 8)
    assert (found["roc_auc"], found["accuracy"]) == (1.0, 0.5)


def test_a_score_that_is_no_number_is_refused_but_of_a_node_without_a_label(tmp_path):
    with MultiLabelFigures(3, 2, tmp_path) as figures:
        figures.add(np.full((1, 2), np.nan, np.float32), np.int8([[-1, -1]]))
        with pytest.raises(RunError, match="not a number"):
            figures.add(np.float32([[0, np.inf]]), np.int8([[0, 1]]))
