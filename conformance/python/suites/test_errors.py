"""Errors: every failure has a JSON body, an activity id and a charge."""

import json

from support import Wire, collect, fails, with_header, write


async def caught_on_the_wire(operation, status):
    wire = Wire()
    with fails(status):
        await operation(wire)
    assert wire.status == status
    body = json.loads(wire.text)
    assert body["code"] and body["message"]
    assert wire.headers["content-type"].startswith("application/json")
    assert int(wire.headers["content-length"]) == len(wire.text.encode("utf-8"))
    assert wire.headers["x-ms-activity-id"]
    assert float(wire.headers.get("x-ms-request-charge", "0")) >= 0
    return body


async def test_not_found_body(container):
    body = await caught_on_the_wire(lambda wire: container.read_item("x", "a", raw_response_hook=wire), 404)
    assert body["code"] == "NotFound"
    assert "Entity with the specified id does not exist in the system." in body["message"]
    assert "https://aka.ms/cosmosdb-tsg-not-found" in body["message"]


async def test_conflict_body(container):
    await write(container, {"id": "1", "pk": "a"})
    body = await caught_on_the_wire(
        lambda wire: container.create_item({"id": "1", "pk": "a"}, raw_response_hook=wire), 409
    )
    assert body["code"] == "Conflict"
    assert (
        "Entity with the specified id already exists in the system." in body["message"]
        or "Resource with specified id or name already exists." in body["message"]
    )


async def test_bad_request_body(container):
    body = await caught_on_the_wire(
        lambda wire: container.create_item({"pk": "a"}, raw_response_hook=wire), 400
    )
    assert body["code"] == "BadRequest"


async def test_precondition_body(container):
    await write(container, {"id": "1", "pk": "a"})
    body = await caught_on_the_wire(
        lambda wire: container.replace_item(
            "1", {"id": "1", "pk": "a"}, raw_response_hook=wire, **with_header("If-Match", '"old"')
        ),
        412,
    )
    assert body["code"] == "PreconditionFailed"


async def test_too_large_body(container):
    body = await caught_on_the_wire(
        lambda wire: container.create_item(
            {"id": "1", "pk": "a", "text": "x" * (2 * 1024 * 1024)}, raw_response_hook=wire
        ),
        413,
    )
    assert body["code"] == "RequestEntityTooLarge"


async def test_activity_id_is_echoed(container):
    activity = "01234567-89ab-4cde-8f01-23456789abcd"
    wire = Wire()
    await container.create_item(
        {"id": "1", "pk": "a"}, raw_response_hook=wire, **with_header("x-ms-activity-id", activity)
    )
    assert wire.headers["x-ms-activity-id"] == activity


async def test_unknown_range_is_gone(container):
    with fails(410, sub=1002):
        await collect(container.read_all_items(**with_header("x-ms-documentdb-partitionkeyrangeid", "987654")))


async def test_unknown_throughput_bucket_is_refused(container):
    with fails(400, "specified for the header 'x-ms-cosmos-throughput-bucket' is invalid."):
        await container.create_item({"id": "1", "pk": "a"}, throughput_bucket=99999)


async def test_features_that_are_not_there_yet_are_refused_not_ignored(container):
    """A trigger that does not exist must stop the write, never be skipped."""
    with fails(400):
        await container.create_item({"id": "1", "pk": "a"}, pre_trigger_include="missing")
    with fails(404):
        await container.read_item("1", "a")
