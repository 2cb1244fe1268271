"""What tests of training share."""

import pytest


@pytest.fixture
def printed(cli, capfd):
    """What a command prints."""

    def call(*arguments):
        capfd.readouterr()
        assert cli(*arguments) == 0
        return capfd.readouterr().out

    return call
