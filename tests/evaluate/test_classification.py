"""Accuracy and macro-F1 against their definitions."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.errors import RunError
from marius_lite.evaluate.classification import ClassCounts


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
    labels = torch.from_numpy(rng.integers(-1, classes, nodes))
    scores = torch.from_numpy(rng.integers(0, 3, (nodes, classes)).astype(np.float32))
    counts = ClassCounts(classes)
    for start in range(0, nodes, batch):
        counts.add(scores[start:start + batch], labels[start:start + batch])
    answers = [row.index(max(row)) for row in scores.tolist()]
    accuracy, macro_f1 = by_definition(answers, labels.tolist())
    result = counts.summary("valid")
    assert result["split"] == "valid"
    assert result["count"] == int((labels >= 0).sum())
    assert result["accuracy"] == (None if accuracy is None else pytest.approx(accuracy))
    assert result["macro_f1"] == (None if macro_f1 is None else pytest.approx(macro_f1))


def test_scores_that_are_no_numbers_and_labels_that_are_no_classes():
    counts = ClassCounts(3)
    with pytest.raises(RunError, match="not a number"):
        counts.add(torch.tensor([[0.0, torch.nan, 1.0]]), torch.tensor([1]))
    with pytest.raises(ValueError, match="found class 3, there are 3"):
        counts.add(torch.zeros(1, 3), torch.tensor([3]))
    counts.add(torch.full((1, 3), torch.nan), torch.tensor([-1]))  # no label, no answer asked for
    assert counts.summary("test") == {"split": "test", "accuracy": None, "macro_f1": None, "count": 0, "classes": 0}
