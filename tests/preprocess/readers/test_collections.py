"""Whole public graphs from their files as they are; skipped where the files are absent."""

import pytest
from preprocess_tools import make, shared


def test_road_ne(tmp_path):
    dataset = make(tmp_path / "d", shared("road-ne/NE.gr.xz"))
    assert dataset.manifest.nodes == 1_524_453
    assert dataset.edges("train").total == 1_934_010
    assert dataset.manifest.ids == "int"


def test_web_notredame(tmp_path):
    dataset = make(tmp_path / "d", shared("web-notredame/web-NotreDame.txt.gz"))
    assert (dataset.manifest.nodes, dataset.edges("train").total) == (325_729, 1_497_134)
    assert dataset.manifest.ids == "int"


@pytest.mark.parametrize(
    ("archive", "nodes", "relations", "edges"),
    [
        ("fb15k-237/FB15k-237.tar.gz", 14_541, 237, (272_115, 17_535, 20_466)),
        ("codex-m/codex-m.tar.gz", 17_050, 51, (185_584, 10_310, 10_311)),
    ],
)
def test_knowledge_graphs(tmp_path, archive, nodes, relations, edges):
    file = shared(archive)
    manifest = make(tmp_path / "d", f"{file}:*train.txt", valid=f"{file}:*valid.txt", test=f"{file}:*test.txt").manifest
    assert (manifest.nodes, manifest.relations, tuple(manifest.edges.values())) == (nodes, relations, edges)
