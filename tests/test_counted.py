import pytest

from marius_lite.counted import counted


@pytest.mark.parametrize(("count", "said"), [(0, "0 nodes"), (1, "1 node"), (2, "2 nodes"), (3000, "3,000 nodes")])
def test_one_of_a_thing_has_no_s(count, said):
    assert counted(count, "node") == said
