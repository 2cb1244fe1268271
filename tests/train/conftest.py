"""What tests of training share."""

import pytest
from warm_runs import make_grown


@pytest.fixture
def printed(cli, capfd):
    """What a command prints."""

    def call(*arguments):
        capfd.readouterr()
        assert cli(*arguments) == 0
        return capfd.readouterr().out

    return call


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """A folder with dataset ``d`` of two versions, the second with more nodes and relations; ``old``, a run over the first."""
    folder = tmp_path_factory.mktemp("grown")
    make_grown(folder)
    return folder
