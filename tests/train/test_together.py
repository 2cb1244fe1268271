"""What any of several processes is asked to do, all do."""

import pytest

from marius_lite.errors import EndedElsewhere
from marius_lite.train.together import TogetherTrainer


class Said(TogetherTrainer):
    """One process's part of what all have heard, without a run."""

    def __init__(self, is_first):
        self.writes, self._said = is_first, (None, False)


@pytest.mark.parametrize(
    ("asked", "signum", "due"),
    [
        ([(None, False), (None, False)], None, False),
        ([(None, False), (15, False)], 15, False),
        ([(None, True), (2, False)], 2, True),
    ],
)
def test_all_hear_what_any_is_asked(asked, signum, due):
    for is_first in (True, False):
        trainer = Said(is_first)
        trainer._hear(iter(asked))
        assert (trainer._signum(), trainer._due(), trainer._pause()) == (signum, due, due or signum is not None)


def test_only_the_first_says_where_the_run_stopped():
    trainer = Said(False)
    trainer._hear([(15, False)])
    with pytest.raises(EndedElsewhere) as ended:
        trainer._stop_if_asked()
    assert ended.value.exit_code == 143
    trainer._hear([(None, False)])
    trainer._stop_if_asked()
