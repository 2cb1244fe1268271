"""Whatever is written where: after the moves everyone has the newest files of what it needs, and nobody waits in a circle."""

from hypothesis import given
from hypothesis import strategies as st

from marius_lite.processes.holders import Holders, Move

PARTITIONS = 6


@given(st.data(), st.integers(1, 4))
def test_who_needs_a_partition_has_its_newest_file(data, count):
    folders = [0, *(data.draw(st.sampled_from([0, rank])) for rank in range(1, count))]
    holders = Holders(range(PARTITIONS), folders)
    files = {folder: dict.fromkeys(range(PARTITIONS), 0 if folder == 0 else None) for folder in folders}
    newest = dict.fromkeys(range(PARTITIONS), 0)
    for version in range(1, 8):
        needed = data.draw(st.dictionaries(st.integers(0, count - 1), st.sets(st.integers(0, PARTITIONS - 1))))
        moves = holders.bring(needed)
        assert moves == sorted(moves, key=lambda each: (each.partition, each.target))
        for k, source, target in moves:
            assert files[folders[source]][k] == newest[k], "what is sent is the newest"
            assert files[folders[target]][k] != newest[k], "nothing is sent that is there"
            files[folders[target]][k] = newest[k]
        for rank, partitions in needed.items():
            assert all(files[folders[rank]][k] == newest[k] for k in partitions)
            written = data.draw(st.sets(st.sampled_from(sorted(partitions)))) if partitions else set()
            others = [k for other, theirs in needed.items() if other != rank for k in theirs]
            written -= set(others)  # in a round no two processes have a partition in common
            for k in written:
                newest[k] = files[folders[rank]][k] = version * count + rank
            holders.written(rank, written)


def test_nothing_moves_within_a_folder():
    holders = Holders(range(3), [0, 0, 2])
    assert holders.bring({0: [0], 1: [1], 2: [2]}) == [Move(2, 0, 2)]
    holders.written(1, [1])
    assert holders.bring({0: [1]}) == []
    assert holders.bring({2: [1, 2]}) == [Move(1, 1, 2)]
