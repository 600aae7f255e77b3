"""If-Match and If-None-Match on items."""

import pytest
from azure.core import MatchConditions

from support import Wire, fails, write

UNMET = "one of the specified precondition is not met"


def unchanged(etag):
    return {"etag": etag, "match_condition": MatchConditions.IfNotModified}


@pytest.fixture
def item():
    return {"id": "1", "pk": "a", "n": 1}


async def test_replace_with_the_current_etag_succeeds(container, item):
    [made] = await write(container, item)
    replaced = await container.replace_item("1", {**item, "n": 2}, **unchanged(made["_etag"]))
    assert replaced["n"] == 2


async def test_replace_with_an_old_etag_fails(container, item):
    [made] = await write(container, item)
    await container.replace_item("1", {**item, "n": 2})
    with fails(412, UNMET):
        await container.replace_item("1", {**item, "n": 3}, **unchanged(made["_etag"]))
    assert (await container.read_item("1", "a"))["n"] == 2


async def test_upsert_with_an_old_etag_fails(container, item):
    [made] = await write(container, item)
    await container.upsert_item({**item, "n": 2}, **unchanged(made["_etag"]))
    with fails(412, UNMET):
        await container.upsert_item({**item, "n": 3}, **unchanged(made["_etag"]))
    assert (await container.read_item("1", "a"))["n"] == 2


async def test_upsert_of_a_missing_item_ignores_if_match(container, item):
    assert (await container.upsert_item(item, **unchanged('"whatever"')))["n"] == 1


async def test_patch_with_an_old_etag_fails(container, item):
    [made] = await write(container, item)
    increment = [{"op": "incr", "path": "/n", "value": 1}]
    await container.patch_item("1", "a", increment, **unchanged(made["_etag"]))
    with fails(412, UNMET):
        await container.patch_item("1", "a", increment, **unchanged(made["_etag"]))
    assert (await container.read_item("1", "a"))["n"] == 2


async def test_delete_with_an_old_etag_fails(container, item):
    [made] = await write(container, item)
    replaced = await container.replace_item("1", {**item, "n": 2})
    with fails(412, UNMET):
        await container.delete_item("1", "a", **unchanged(made["_etag"]))
    await container.delete_item("1", "a", **unchanged(replaced["_etag"]))
    with fails(404):
        await container.read_item("1", "a")


async def test_star_matches_any_existing_item(container, item):
    await write(container, item)
    await container.replace_item("1", {**item, "n": 2}, match_condition=MatchConditions.IfPresent)
    with fails(404):
        await container.replace_item("2", {**item, "id": "2"}, match_condition=MatchConditions.IfPresent)


async def test_read_of_an_unchanged_item_has_no_body(container, item):
    [made] = await write(container, item)
    wire = Wire()
    await container.read_item(
        "1", "a", etag=made["_etag"], match_condition=MatchConditions.IfModified, raw_response_hook=wire
    )
    assert (wire.status, wire.text) == (304, "")
    assert wire.headers["etag"] == made["_etag"]
    assert float(wire.headers["x-ms-request-charge"]) > 0


async def test_read_of_a_changed_item_returns_it(container, item):
    [made] = await write(container, item)
    await container.replace_item("1", {**item, "n": 2})
    found = await container.read_item(
        "1", "a", etag=made["_etag"], match_condition=MatchConditions.IfModified
    )
    assert found["n"] == 2


async def test_upsert_if_missing_creates_but_does_not_replace(container, item):
    await container.upsert_item(item, match_condition=MatchConditions.IfMissing)
    with fails(412):
        await container.upsert_item({**item, "n": 2}, match_condition=MatchConditions.IfMissing)
    assert (await container.read_item("1", "a"))["n"] == 1
