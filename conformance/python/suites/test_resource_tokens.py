"""Resource tokens: what a permission lets its bearer do, and nothing else."""

from contextlib import asynccontextmanager

import pytest_asyncio

from driver import connect
from support import BY_PK, collect, fails, ids, write


class Shop:
    """A database with a user, two containers and a few items."""

    def __init__(self, flavour, database, user, goods, secrets):
        self.flavour, self.database, self.user = flavour, database, user
        self.goods, self.secrets = goods, secrets

    def link(self, *more):
        return "/".join([f"dbs/{self.database.id}/colls/{self.goods.id}", *more])

    @asynccontextmanager
    async def bearer(self, mode, resource, **more):
        """The goods container as seen with the token of a new permission."""
        made = await self.user.create_permission(
            {"id": "p", "permissionMode": mode, "resource": resource, **more}
        )
        async with connect(self.flavour, {resource: made.properties["_token"]}) as client:
            yield client.get_database_client(self.database.id)
        await self.user.delete_permission("p")


@pytest_asyncio.fixture
async def shop(flavour, new_database):
    database = await new_database()
    goods = await database.create_container("goods", BY_PK)
    secrets = await database.create_container("secrets", BY_PK)
    await write(goods, {"id": "1", "pk": "a"}, {"id": "2", "pk": "b"})
    await write(secrets, {"id": "1", "pk": "a"})
    return Shop(flavour, database, await database.create_user({"id": "ann"}), goods, secrets)


async def test_read_token_of_a_container_reads_it(shop):
    async with shop.bearer("Read", shop.link()) as database:
        goods = database.get_container_client("goods")
        assert (await goods.read())["id"] == "goods"
        assert (await goods.read_item("1", "a"))["id"] == "1"
        assert ids(await collect(goods.read_all_items())) == ["1", "2"]


async def test_read_token_of_a_container_does_not_write(shop):
    async with shop.bearer("Read", shop.link()) as database:
        goods = database.get_container_client("goods")
        with fails(403):
            await goods.create_item({"id": "3", "pk": "a"})
        with fails(403):
            await goods.upsert_item({"id": "1", "pk": "a", "changed": True})
        with fails(403):
            await goods.patch_item("1", "a", [{"op": "set", "path": "/changed", "value": True}])
        with fails(403):
            await goods.delete_item("1", "a")
        with fails(403):
            await goods.execute_item_batch([("delete", ("1",))], "a")
        with fails(403):
            await database.delete_container("goods")
    assert "changed" not in await shop.goods.read_item("1", "a")
    assert ids(await collect(shop.goods.read_all_items())) == ["1", "2"]


async def test_all_token_of_a_container_writes(shop):
    async with shop.bearer("All", shop.link()) as database:
        goods = database.get_container_client("goods")
        await goods.create_item({"id": "3", "pk": "a"})
        await goods.replace_item("3", {"id": "3", "pk": "a", "changed": True})
        await goods.delete_item("1", "a")
    assert ids(await collect(shop.goods.read_all_items())) == ["2", "3"]


async def test_token_of_one_container_does_not_open_another(shop):
    async with shop.bearer("All", shop.link()) as database:
        secrets = database.get_container_client("secrets")
        with fails(403):
            await secrets.read()
        with fails(403):
            await secrets.read_item("1", "a")
        with fails(403):
            await database.read()
        with fails(403):
            await collect(database.list_containers())


async def test_token_of_a_partition_key_is_limited_to_it(shop):
    async with shop.bearer("All", shop.link(), resourcePartitionKey=["a"]) as database:
        goods = database.get_container_client("goods")
        assert (await goods.read_item("1", "a"))["id"] == "1"
        await goods.create_item({"id": "3", "pk": "a"})
        with fails(403):
            await goods.read_item("2", "b")
        with fails(403):
            await goods.create_item({"id": "4", "pk": "b"})
        with fails(403):
            await collect(goods.read_all_items())
        with fails(403):
            await goods.delete_all_items_by_partition_key("b")
    assert ids(await collect(shop.goods.read_all_items())) == ["1", "2", "3"]


async def test_token_of_an_item_is_limited_to_it(shop):
    await write(shop.goods, {"id": "other", "pk": "a"})
    async with shop.bearer("All", shop.link("docs", "1"), resourcePartitionKey=["a"]) as database:
        goods = database.get_container_client("goods")
        assert (await goods.read_item("1", "a"))["id"] == "1"
        with fails(403):
            await goods.read_item("other", "a")
        with fails(403):
            await goods.read_item("2", "b")
        with fails(403):
            await goods.create_item({"id": "3", "pk": "a"})
        with fails(403):
            await collect(goods.read_all_items())
        await goods.delete_item("1", "a")
    assert ids(await collect(shop.goods.read_all_items())) == ["2", "other"]


async def test_made_up_token_is_refused(shop):
    made_up = "type=resource&ver=1.0&sig=bm90IGEgcmVhbCB0b2tlbg==;bm90aGluZyBhdCBhbGw=;"
    with fails(401):
        async with connect(shop.flavour, {shop.link(): made_up}) as client:
            await client.get_database_client(shop.database.id).get_container_client("goods").read()


async def test_permission_feed_opens_a_client(shop):
    container = await shop.goods.read()
    await shop.user.create_permission(
        {"id": "p", "permissionMode": "Read", "resource": f"dbs/{shop.database.id}/colls/{container['id']}"}
    )
    feed = await collect(shop.user.list_permissions())
    async with connect(shop.flavour, {feed[0]["resource"]: feed[0]["_token"]}) as client:
        goods = client.get_database_client(shop.database.id).get_container_client("goods")
        assert (await goods.read_item("1", "a"))["id"] == "1"
