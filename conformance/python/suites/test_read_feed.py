"""Reading a container from one end to the other."""

import asyncio

import pytest

from support import collect, collect_pages, fails, ids, with_header


@pytest.fixture
def fill(container):
    async def write_many(count, keys=7):
        bodies = [{"id": f"{n:03}", "pk": f"key{n % keys}"} for n in range(count)]
        return await asyncio.gather(*(container.create_item(body) for body in bodies))

    return write_many


async def test_feed_holds_the_items_of_all_ranges(container, fill):
    made = await fill(30)
    found = await collect(container.read_all_items())
    assert sorted(found, key=lambda item: item["id"]) == made


async def test_feed_of_an_empty_container_is_empty(container):
    assert await collect(container.read_all_items()) == []


async def test_pages_hold_what_was_asked_for(container, fill):
    made = await fill(23)
    pages = await collect_pages(container.read_all_items(max_item_count=5))
    assert all(len(page) <= 5 for page in pages)
    assert len(pages) >= 5
    assert ids(item for page in pages for item in page) == ids(made)


async def test_feed_resumes_from_a_continuation(container, fill):
    made = await fill(23)
    pager = container.read_all_items(max_item_count=4).by_page()
    first = [item async for item in await pager.__anext__()]
    rest = await collect(_pages(container.read_all_items(max_item_count=4), pager.continuation_token))
    assert ids(first + rest) == ids(made)


async def test_continuation_survives_writes(container, fill):
    made = await fill(20, keys=1)
    pager = container.read_all_items(max_item_count=8).by_page()
    first = [item async for item in await pager.__anext__()]
    await container.delete_item(first[-1]["id"], "key0")
    await container.create_item({"id": "late", "pk": "key0"})
    rest = await collect(_pages(container.read_all_items(max_item_count=8), pager.continuation_token))
    assert ids(first + rest) == ids(made + [{"id": "late"}])


async def test_default_page_is_large(container, fill):
    await fill(120)
    pages = [page for page in await collect_pages(container.read_all_items()) if page]
    assert sum(len(page) for page in pages) == 120


async def test_partition_key_scopes_the_feed(container, fill):
    await fill(20, keys=4)
    scope = with_header("x-ms-documentdb-partitionkey", '["key1"]')
    assert ids(await collect(container.read_all_items(**scope))) == ["001", "005", "009", "013", "017"]


async def test_range_scopes_the_feed(container, fill):
    made = await fill(30, keys=30)
    parts = []
    for number in range(len(await collect(container.read_feed_ranges()))):
        scope = with_header("x-ms-documentdb-partitionkeyrangeid", str(number))
        parts.append(await collect(container.read_all_items(**scope)))
    assert ids(item for part in parts for item in part) == ids(made)


async def test_bad_continuation_is_refused(container, fill):
    await fill(3)
    with fails(400, "Invalid Continuation Token"):
        await collect(_pages(container.read_all_items(), "nonsense"))


async def test_bad_page_size_is_refused(container):
    with fails(400, "The input PageSize abc is invalid"):
        await collect(container.read_all_items(max_item_count="abc"))


async def test_page_size_minus_one_lets_the_server_decide(container, fill):
    await fill(5)
    assert len(await collect(container.read_all_items(max_item_count=-1))) == 5


async def _pages(pager, continuation):
    async for page in pager.by_page(continuation):
        async for item in page:
            yield item
