"""A burst over the provisioned throughput, against a server that enforces it; the SDK retries as it does by default."""

import asyncio
import time

from support import BY_PK, unique

THROUGHPUT = 400
WRITES = 2_000
WRITERS = 16


async def test_a_burst_completes_at_the_provisioned_rate(database):
    container = await database.create_container(unique("burst"), BY_PK, offer_throughput=THROUGHPUT)
    numbers = iter(range(WRITES))
    refused = 0

    def watch(response):
        nonlocal refused
        refused += response.http_response.status_code == 429

    async def write():
        charges = 0.0
        for n in numbers:
            item = {"id": f"{n:05}", "pk": f"k{n % 97}", "note": "x" * 200}
            made = await container.create_item(item, raw_response_hook=watch)
            charges += float(made.get_response_headers()["x-ms-request-charge"])
        return charges

    begin = time.monotonic()
    charges = sum(await asyncio.gather(*(write() for _ in range(WRITERS))))
    elapsed = time.monotonic() - begin
    rate = charges / elapsed
    print(f"{charges:.0f} RU in {elapsed:.1f} s: {rate:.0f} RU/s, {refused} times 429")
    assert refused > 0, "nothing was refused: is --enforce-throughput on?"
    assert 0.9 * THROUGHPUT <= rate <= 1.1 * THROUGHPUT, f"{rate:.1f} RU/s"
    assert len([it async for it in container.read_all_items()]) == WRITES
