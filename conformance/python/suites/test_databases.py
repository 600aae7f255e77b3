"""Databases: create, read, list, delete, names."""

import asyncio

import pytest

from support import BY_PK, collect, collect_pages, fails, ids, unique, with_header


async def test_created_database_has_the_system_properties(client, new_database):
    database = await new_database()
    found = await database.read()
    assert found["id"] == database.id
    assert len(found["_rid"]) == 8
    assert found["_self"] == f"dbs/{found['_rid']}/"
    assert found["_etag"].startswith('"') and found["_etag"].endswith('"')
    assert found["_colls"] == "colls/"
    assert found["_users"] == "users/"
    assert isinstance(found["_ts"], int)
    assert found.get_response_headers()["etag"] == found["_etag"]


async def test_create_returns_the_properties_on_request(client):
    name = unique("database")
    _, properties = await client.create_database(name, return_properties=True)
    assert properties["id"] == name
    assert float(properties.get_response_headers()["x-ms-request-charge"]) > 0
    await client.delete_database(name)


async def test_second_database_of_a_name_is_a_conflict(client, new_database):
    database = await new_database()
    with fails(409, "already exists"):
        await client.create_database(database.id)


async def test_missing_database_is_not_found(client):
    name = unique("missing")
    with fails(404, "Resource Not Found"):
        await client.get_database_client(name).read()
    with fails(404, "Resource Not Found"):
        await client.delete_database(name)


async def test_databases_are_listed_in_pages(client, new_database):
    made = [(await new_database()).id for _ in range(3)]
    pages = await collect_pages(client.list_databases(max_item_count=1))
    assert all(len(page) <= 1 for page in pages)
    assert set(made) <= {database["id"] for page in pages for database in page}


async def test_deleted_database_is_gone_with_its_containers(client, new_database):
    database = await new_database()
    container = await database.create_container("things", BY_PK)
    await container.create_item({"id": "1", "pk": "a"})
    before = await database.read()
    await client.delete_database(database.id)
    assert database.id not in ids(await collect(client.list_databases()))
    with fails(404):
        await database.read()

    again = await client.create_database(database.id)
    assert (await again.read())["_rid"] != before["_rid"]
    assert await collect(again.list_containers()) == []


async def test_delete_honours_if_match(client, new_database):
    database = await new_database()
    with fails(412, "One of the specified pre-condition is not met"):
        await client.delete_database(database.id, **with_header("If-Match", '"another"'))
    await client.delete_database(database.id, **with_header("If-Match", (await database.read())["_etag"]))
    with fails(404):
        await database.read()


async def test_create_if_not_exists_creates_once(client):
    name = unique("database")
    first = await client.create_database_if_not_exists(name)
    made = await first.read()
    second = await client.create_database_if_not_exists(name)
    assert (await second.read())["_rid"] == made["_rid"]
    await client.delete_database(name)


async def test_concurrent_create_if_not_exists_creates_one_database(client):
    name = unique("database")
    answers = await asyncio.gather(
        *(client.create_database_if_not_exists(name) for _ in range(12)), return_exceptions=True
    )
    failures = [answer for answer in answers if isinstance(answer, Exception)]
    assert len(failures) < len(answers)
    assert {failure.status_code for failure in failures} <= {409}
    assert ids(await collect(client.list_databases())).count(name) == 1
    await client.delete_database(name)


@pytest.mark.parametrize("name", ["größe 東京 🚀", "a.b-c_d~e!@$%^&*()[]{}|;:,<>'`", "UPPER lower", "%41%2e"])
async def test_odd_names_are_kept(client, name):
    name = f"{unique('odd')} {name}"
    database = await client.create_database(name)
    assert (await database.read())["id"] == name
    container = await database.create_container(name, BY_PK)
    await container.create_item({"id": "1", "pk": "a"})
    assert (await container.read_item("1", "a"))["id"] == "1"
    assert (await container.read())["id"] == name
    assert name in ids(await collect(client.list_databases()))
    await client.delete_database(name)


async def test_longest_name_is_255_characters(client):
    name = unique("long").ljust(255, "x")
    database = await client.create_database(name)
    assert (await database.read())["id"] == name
    await client.delete_database(name)
    with fails(400, "Ensure to provide a unique non-empty string less than '255' characters."):
        await client.create_database(name + "x")
