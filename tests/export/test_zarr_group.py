"""An export to Zarr that fails: nothing of it goes on writing."""

import asyncio
import time

import pytest
from zarr.core.sync import sync

from marius_lite.export.zarr_group import all_ended


def test_what_is_written_beside_a_failing_write_ends_before_the_error_arrives():
    ended = []

    def slow():
        time.sleep(0.2)
        ended.append("slow")

    async def fails():
        await asyncio.sleep(0.01)  # the other one is under way
        raise OSError("the disk is full")

    async def both():
        await asyncio.gather(asyncio.to_thread(slow), fails())

    with pytest.raises(OSError, match="full"), all_ended():
        sync(both())
    assert ended == ["slow"]
