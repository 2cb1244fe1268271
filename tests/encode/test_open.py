"""A configuration's representation: rows themselves, or an encoder's vectors."""

import pytest
from open_parts import ENCODER, LINKS, open_parts

from marius_lite.encode.open import represent
from marius_lite.encode.representation import Encoded, RowsThemselves
from marius_lite.graph.dataset import Dataset


def test_without_an_encoder_rows_are_vectors(surrounded, tmp_path):
    with open_parts(surrounded, *LINKS) as parts:
        made = represent(parts.work.rows, None, Dataset.open(surrounded), parts.config, None, tmp_path)
        assert isinstance(made, RowsThemselves)
        assert made.rows is parts.work.rows


def test_with_one_they_are_what_it_makes_of_neighbourhoods(surrounded, tmp_path):
    pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")
    with open_parts(surrounded, *LINKS, *ENCODER, "model.inputs=embeddings") as parts:
        made = represent(parts.work.rows, None, Dataset.open(surrounded), parts.config, parts.model.encoder, tmp_path)
        assert isinstance(made, Encoded)
        made.close()
