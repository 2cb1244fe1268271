"""What is published goes together: one version everywhere, and the CUDA library where marius_lite looks for it."""

import tomllib
from pathlib import Path

import marius_lite
from marius_lite.device import library

ROOT = Path(__file__).parents[1]


def settings(place):
    return tomllib.loads((ROOT / place).read_text())


def test_there_is_one_version():
    project, cuda = settings("pyproject.toml")["project"], settings("packaging/cuda/pyproject.toml")["project"]
    assert project["version"] == cuda["version"] == marius_lite.__version__
    assert project["optional-dependencies"]["cuda"] == [f"{cuda['name']}=={project['version']}"]


def test_the_cuda_library_is_installed_where_it_is_looked_for():
    built = settings("packaging/cuda/pyproject.toml")["tool"]["scikit-build"]
    assert built["wheel"]["packages"] == [built["cmake"]["define"]["MARIUS_CUDA_PACKAGE"]] == [library.PACKAGE]
