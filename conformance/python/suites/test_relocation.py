"""The container goes from its first ranges to 16 and back to 2 while everything goes on."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from driver import connect
from growth import RANGES_MAX, RANGES_MIN, Ranges, Work

pytestmark = pytest.mark.skipif(
    not os.environ.get("ORRERY_GROWTH"), reason="takes a minute: ORRERY_GROWTH=1 runs it"
)

# Between two steps of growth: time for every worker to meet the new ranges with the old ones in its cache.
REST_SECONDS = 1.0
WRITERS = 4


async def move_ranges(ranges, work):
    steps = []
    await asyncio.sleep(REST_SECONDS)
    for move, goal in ((ranges.grow, RANGES_MAX), (ranges.shrink, RANGES_MIN)):
        while len(await ranges.ids()) != goal:
            await move()
            steps.append(len(await ranges.ids()))
            await asyncio.sleep(REST_SECONDS)
    work.stop.set()
    return steps


async def test_nothing_is_lost_doubled_or_out_of_order_while_ranges_split_and_merge(flavour, database, container):
    # Every call of the synchronous client takes a thread while it waits.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(32))
    async with connect(flavour) as second, connect(flavour) as third, connect(flavour) as fourth:
        others = (
            it.get_database_client(database.id).get_container_client(container.id) for it in (second, third, fourth)
        )
        work = Work(container, *others, flavour)
        await work.fill()
        jobs = [
            move_ranges(Ranges(database.id, container.id), work),
            *(work.write(n) for n in range(WRITERS)),
            work.read(own=True),
            work.read(own=False),
            work.query_in_order(),
            work.count(),
            work.query_feed_range(),
            work.query_one_key(),
            work.follow(),
        ]
        async with asyncio.TaskGroup() as group:
            steps, *_ = [group.create_task(it) for it in jobs]
        assert max(steps.result()) == RANGES_MAX
        assert steps.result()[-1] == RANGES_MIN
        await work.check()
        assert work.ledger.written > 100, work.ledger.written
        print(flavour, steps.result(), work.ledger.written, work.rounds)
        idle = [it for it, n in work.rounds.items() if n == 0 and it != "repaired"]
        assert not idle, idle
