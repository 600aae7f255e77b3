"""Writes that ask for no content in return."""

from driver import connect
from support import Wire, fails, write

INCREMENT = [{"op": "incr", "path": "/n", "value": 1}]


async def test_writes_without_content_keep_status_and_headers(container):
    item = {"id": "1", "pk": "a", "n": 1}
    wire = Wire()
    quiet = {"no_response": True, "raw_response_hook": wire}

    assert await container.create_item(item, **quiet) == {}
    assert (wire.status, wire.text) == (201, "")
    first = wire.headers["etag"]
    assert float(wire.headers["x-ms-request-charge"]) > 0
    assert "#" in wire.headers["x-ms-session-token"]

    assert await container.upsert_item({**item, "n": 2}, **quiet) == {}
    assert (wire.status, wire.text) == (200, "")
    assert wire.headers["etag"] != first

    assert await container.replace_item("1", {**item, "n": 3}, **quiet) == {}
    assert (wire.status, wire.text) == (200, "")

    assert await container.patch_item("1", "a", INCREMENT, **quiet) == {}
    assert (wire.status, wire.text) == (200, "")
    found = await container.read_item("1", "a")
    assert found["n"] == 4
    assert found["_etag"] == wire.headers["etag"]


async def test_failures_keep_their_body(container):
    await write(container, {"id": "1", "pk": "a"})
    with fails(409, "already exists"):
        await container.create_item({"id": "1", "pk": "a"}, no_response=True)


async def test_client_can_ask_for_no_content_as_its_default(flavour, database, container):
    async with connect(flavour, no_response_on_write=True) as quiet:
        things = quiet.get_database_client(database.id).get_container_client(container.id)
        assert await things.create_item({"id": "1", "pk": "a"}) == {}
        assert (await things.create_item({"id": "2", "pk": "a"}, no_response=False))["id"] == "2"
        assert (await things.read_item("1", "a"))["id"] == "1"
