"""Figures of classification against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.errors import RunError
from marius_lite.evaluate.classification import MATRIX, ClassCounts


def by_definition(answers, labels):
    pairs = [(a, b) for a, b in zip(answers, labels) if b >= 0]
    if not pairs:
        return None, None
    scores = []
    for c in {x for pair in pairs for x in pair}:
        right = sum(a == b == c for a, b in pairs)
        said, are = sum(a == c for a, _ in pairs), sum(b == c for _, b in pairs)
        precision, recall = right / said if said else 0, right / are if are else 0
        scores.append(2 * precision * recall / (precision + recall) if right else 0)
    return sum(a == b for a, b in pairs) / len(pairs), sum(scores) / len(scores)


@given(st.integers(1, 6), st.integers(0, 40), st.integers(1, 7), st.integers(0, 1000))
def test_equal_to_the_definition_however_streamed(classes, nodes, batch, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(-1, classes, nodes)
    scores = rng.integers(0, 3, (nodes, classes)).astype(np.float32)
    counts = ClassCounts(classes)
    for start in range(0, nodes, batch):
        counts.add(scores[start : start + batch], labels[start : start + batch])
    answers = [row.index(max(row)) for row in scores.tolist()]
    accuracy, macro_f1 = by_definition(answers, labels.tolist())
    result = counts.summary("valid")
    assert result["split"] == "valid"
    assert result["count"] == int((labels >= 0).sum())
    assert result["accuracy"] == (None if accuracy is None else pytest.approx(accuracy))
    assert result["macro_f1"] == (None if macro_f1 is None else pytest.approx(macro_f1))
    assert result["micro_f1"] == result["accuracy"]
    given = [(row, label) for row, label in zip(scores.astype(float), labels) if label >= 0]
    losses = [-np.log(np.exp(row[label]) / np.exp(row).sum()) for row, label in given]
    assert result["log_loss"] == (pytest.approx(np.mean(losses)) if losses else None)
    assert result["confusion"] == [
        [sum(a == said and b == are for a, b in zip(answers, labels)) for said in range(classes)] for are in range(classes)
    ]


def test_scores_that_are_no_numbers_and_labels_that_are_no_classes():
    counts = ClassCounts(3)
    with pytest.raises(RunError, match="not a number"):
        counts.add(np.float32([[0.0, np.nan, 1.0]]), np.array([1]))
    with pytest.raises(ValueError, match="found class 3, there are 3"):
        counts.add(np.zeros((1, 3), np.float32), np.array([3]))
    counts.add(np.full((1, 3), np.nan, np.float32), np.array([-1]))  # no label, no answer asked for
    assert counts.summary("test") == {
        "split": "test",
        "accuracy": None,
        "macro_f1": None,
        "micro_f1": None,
        "log_loss": None,
        "count": 0,
        "classes": 0,
        "confusion": [[0] * 3] * 3,
    }


def test_many_classes_have_no_matrix():
    counts = ClassCounts(MATRIX + 1)
    counts.add(np.eye(2, MATRIX + 1, dtype=np.float32), np.array([0, 1]))
    assert counts.summary("test")["accuracy"] == 1
    assert "confusion" not in counts.summary("test")
