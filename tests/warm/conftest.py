"""What tests of warm starts share."""

import pytest
from warm_runs import make_grown


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """A folder with dataset ``d`` of two versions, the second with more nodes and relations; ``old``, a run over the first."""
    folder = tmp_path_factory.mktemp("grown")
    make_grown(folder)
    return folder
