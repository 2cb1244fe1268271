"""What tests of training share."""

import community_graph
import pytest


@pytest.fixture
def printed(cli, capfd):
    """What a command prints."""

    def call(*arguments):
        capfd.readouterr()
        assert cli(*arguments) == 0
        return capfd.readouterr().out

    return call


@pytest.fixture(scope="session")
def clustered(cli, tmp_path_factory):
    """`community_graph` in 8 partitions by locality, all of which have training nodes."""
    folder = tmp_path_factory.mktemp("clustered")
    by_locality = ["--partitions", "8", "--partitioner", "locality", "--training-partitions", "all"]
    assert cli("preprocess", *community_graph.write(folder), "--output", folder / "dataset", *by_locality) == 0
    return folder / "dataset"
