"""The buffer under slow, full and failing disks: programs of their own, with faults injected below them."""

import json

import numpy as np
import pytest
from faults import KILLED

PROGRAM = """
import json, sys, time
import numpy as np
from pathlib import Path
from marius_lite.errors import RunError
from marius_lite.storage.buffer import PartitionBuffer
from marius_lite.storage.table import RowTable

DIRECT = {direct}
table = RowTable.create(Path({path!r}), 1200, 16, 300)
def kept(k):
    # The rows of a partition in memory, whether the caller has entered it or given it up.
    base = buffer._native.slot(k) * buffer.slot_rows
    return buffer.rows[base : base + table.size(k)].astype(float)

def fill(buffer, k, value):
    buffer.resident.view(k)[:] = value
    buffer.mark_dirty([k])
def spent(call):
    start = time.monotonic()
    call()
    return time.monotonic() - start
"""


@pytest.fixture(params=[True, False], ids=["direct", "buffered"])
def program(request, tmp_path):
    head = PROGRAM.format(path=str(tmp_path / "table"), direct=request.param)
    return lambda body: head + body


def output(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_prefetch_goes_on_while_the_caller_works(forked_faults, program):
    first, second, after = output(
        forked_faults.run(
            program("""
with PartitionBuffer(table, 2, direct=DIRECT) as buffer:
    first = spent(lambda: buffer.enter([0], [1]))
    time.sleep(0.9)
    second = spent(lambda: buffer.enter([1], [2]))
    after = spent(lambda: buffer.enter([3]))
    print(json.dumps([first, second, after]))
"""),
            DELAY="pread:/c/:600",
        )
    )
    assert first > 0.6
    assert second < 0.3  # it came while the caller slept
    assert after > 0.6  # this one nobody announced


def test_an_eviction_waits_for_nothing_and_its_slot_goes_to_the_next_load(forked_faults, program):
    enters, states, value = output(
        forked_faults.run(
            program("""
with PartitionBuffer(table, 2, direct=DIRECT) as buffer:
    buffer.enter([0, 1])
    fill(buffer, 0, 5)
    enters = spent(lambda: buffer.enter([1], [2]))
    states = [buffer.state(k) for k in (0, 1, 2)]
    buffer.enter([1, 2])
    states += [buffer.state(k) for k in (0, 1, 2)]
    print(json.dumps([enters, states, float(table.read_rows(0, [299])[0, 0])]))
"""),
            DELAY="pwrite:/c/:700",
        )
    )
    assert enters < 0.4
    assert states == ["writing", "resident", "on_disk", "on_disk", "resident", "resident"]
    assert value == 5


def test_nothing_drains_globally(forked_faults, program):
    """A step that needs only the free slot does not wait for the slow write of another partition."""
    enters, state = output(
        forked_faults.run(
            program("""
with PartitionBuffer(table, 3, direct=DIRECT) as buffer:
    buffer.enter([0, 1])
    fill(buffer, 0, 5)
    enters = spent(lambda: buffer.enter([1, 2]))
    print(json.dumps([enters, buffer.state(0)]))
"""),
            DELAY="pwrite:/c/0/:700",
        )
    )
    assert enters < 0.4
    assert state == "writing"


def test_a_partition_being_written_and_wanted_again_is_kept(forked_faults, program):
    states, loads, values = output(
        forked_faults.run(
            program("""
with PartitionBuffer(table, 2, direct=DIRECT) as buffer:
    buffer.enter([0, 1])
    fill(buffer, 0, 5)
    buffer.enter([1])
    states = [buffer.state(0)]
    buffer.enter([0, 1])
    states += [buffer.state(0)]
    print(json.dumps([states, buffer.counters()["loads"], kept(0)[7, 7]]))
"""),
            DELAY="pwrite:/c/:500",
        )
    )
    assert states == ["writing", "resident"]
    assert (loads, values) == (2, 5)


FULL = """
told = []
def attempt(call):
    try: call()
    except RunError as error: told.append(str(error))
buffer = PartitionBuffer(table, 2, direct=DIRECT)
buffer.enter([0, 1])
fill(buffer, 0, 5)
"""


@pytest.mark.parametrize("op", ["pwrite", "rename", "create"])
def test_a_failed_eviction_keeps_the_data_and_is_told_at_the_next_call(forked_faults, program, tmp_path, op):
    told, states, left = output(
        forked_faults.run(
            program(
                FULL
                + """
buffer.enter([1])
while buffer.state(0) == "writing": time.sleep(0.01)
states = [buffer.state(0), kept(0)[0, 0]]
left = [p.name for p in table.chunk_path(0).parent.iterdir()]
attempt(lambda: buffer.enter([1, 2]))
buffer.enter([1, 2])
states += [buffer.state(0), float(table.read_rows(0, [0])[0, 0])]
buffer.close()
print(json.dumps([told, states, left]))
"""
            ),
            FAIL=f"{op}:/c/0/.0.tmp:1:ENOSPC",
        )
    )
    assert len(told) == 1
    assert "the disk is full" in told[0]
    assert "/c/0/" in told[0]
    assert states == ["dirty", 5, "on_disk", 5]
    assert left == ["0"]


@pytest.mark.parametrize("last", ["buffer.enter([1, 2])", "buffer.enter([2, 3], [1])", "buffer.flush()", "buffer.adopt(3)"])
def test_a_disk_that_stays_full_neither_hangs_nor_loses(forked_faults, program, last):
    told, state, value = output(
        forked_faults.run(
            program(
                FULL
                + f"""
attempt(lambda: buffer.enter([1], [2]))
for _ in range(3):
    attempt(lambda: {last})
state, value = buffer.state(0), kept(0)[0, 0]
attempt(buffer.close)
print(json.dumps([told, state, value]))
"""
            ),
            FAIL="pwrite:/c/:1+:ENOSPC",
            timeout=20,
        )
    )
    assert len(told) >= 3
    assert all("the disk is full" in text for text in told)
    assert (state, value) == ("dirty", 5)


def test_close_tells_of_a_write_that_failed_unseen(forked_faults, program):
    told = output(
        forked_faults.run(
            program(
                FULL
                + """
buffer.enter([1])
attempt(buffer.close)
attempt(buffer.close)
print(json.dumps(told))
"""
            ),
            FAIL="pwrite:/c/:1+:EIO",
        )
    )
    assert len(told) == 1
    assert "write of" in told[0]


def test_close_gives_up_loads_but_finishes_writes(forked_faults, program):
    seconds, value = output(
        forked_faults.run(
            program(
                FULL
                + """
buffer.enter([1], [2])
seconds = spent(buffer.close)
print(json.dumps([seconds, float(table.read_rows(0, [0])[0, 0])]))
"""
            ),
            DELAY="pwrite:/c/:300",
        )
    )
    assert seconds < 3
    assert value == 5


def test_a_failed_prefetch_is_told_and_can_be_repeated(forked_faults, program):
    told, states = output(
        forked_faults.run(
            program("""
told = []
with PartitionBuffer(table, 2, direct=DIRECT) as buffer:
    buffer.enter([0], [1])
    while buffer.state(1) == "loading": time.sleep(0.01)
    states = [buffer.state(1)]
    try: buffer.enter([1])
    except RunError as error: told.append(str(error))
    buffer.enter([1])
    states.append(buffer.state(1))
    print(json.dumps([told, states]))
"""),
            FAIL="pread:/c/1/:1:EIO",
            DELAY="pread:/c/1/:200",
        )
    )
    assert len(told) == 1
    assert "/c/1/0: read of" in told[0]
    assert "at offset 0" in told[0]
    assert states == ["on_disk", "resident"]


def test_reads_and_writes_interrupted_or_short_are_resumed(forked_faults, program):
    body = """
with PartitionBuffer(table, 2, direct=DIRECT) as buffer:
    buffer.enter([0])
    fill(buffer, 0, 5)
    checksums = buffer.flush()
    buffer.enter([])
    buffer.enter([0])
    print(json.dumps(kept(0).min()))
"""
    assert output(forked_faults.run(program(body), SHORT="pread,pwrite:/c/0/:1+")) == 5


@pytest.mark.parametrize("op", ["create", "pwrite", "ftruncate", "rename"])
def test_killed_at_any_moment_the_file_is_the_old_or_the_new(forked_faults, program, tmp_path, op):
    done = forked_faults.run(
        program("""
buffer = PartitionBuffer(table, 1, direct=DIRECT)
for value in range(1, 4):
    buffer.enter([0])
    fill(buffer, 0, value)
    buffer.flush()
"""),
        KILL=f"{op}:/c/0/.0.tmp:2",
    )
    assert done.returncode == KILLED, done.stderr
    values = np.fromfile(tmp_path / "table" / "c" / "0" / "0", np.float32)
    assert values.shape == (300 * 16,)
    assert set(values) == {1.0}


def test_writes_go_beside_and_rename_without_syncs(forked_faults, program, tmp_path):
    calls = forked_faults.trace(
        program("""
with PartitionBuffer(table, 1, direct=DIRECT) as buffer:
    buffer.enter([0])
    fill(buffer, 0, 1)
"""),
        "create,write,pwrite,ftruncate,rename,link,fsync,fdatasync:/c/0/.0.tmp",
    )
    folder = str(tmp_path / "table" / "c" / "0")
    assert {call.path for call in calls} == {f"{folder}/.0.tmp"}
    ops = [call.op for call in calls]
    assert ops[0] == "create"
    assert ops[-1] == "rename"
    assert set(ops) <= {"create", "pwrite", "ftruncate", "rename"}
    assert calls[-1].other == f"{folder}/0"


def test_where_direct_io_is_refused_the_buffer_falls_back(forked_faults, program):
    used, value = output(
        forked_faults.run(
            program("""
with PartitionBuffer(table, 1, direct=True) as buffer:
    buffer.enter([0])
    fill(buffer, 0, 3)
    print(json.dumps([buffer.direct, buffer.flush() != {} and float(table.read_rows(0, [1])[0, 0])]))
"""),
            BUFFERED="/c/",
        )
    )
    assert used is False
    assert value == 3
