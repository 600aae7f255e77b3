"""Transactional batches."""

import copy

import pytest
from azure.cosmos import PartitionKey
from azure.cosmos.exceptions import CosmosBatchOperationError

from support import collect, fails, ids, write


def item(name, **more):
    return {"id": name, "pk": "a", **more}


def failed(caught):
    """The status of each operation of a failed batch."""
    return [answer["statusCode"] for answer in caught.value.operation_responses]


async def test_all_kinds_succeed_together(container):
    await write(container, item("1", n=1), item("2", n=1), item("3", n=1), item("4"))
    answers = await container.execute_item_batch(
        [
            ("create", (item("5"),)),
            ("upsert", (item("6"),)),
            ("upsert", (item("1", n=2),)),
            ("replace", ("2", item("2", n=2))),
            ("patch", ("3", [{"op": "incr", "path": "/n", "value": 1}])),
            ("read", ("3",)),
            ("delete", ("4",)),
        ],
        "a",
    )
    assert [answer["statusCode"] for answer in answers] == [201, 201, 200, 200, 200, 200, 204]
    assert answers[5]["resourceBody"]["n"] == 2
    assert answers[0]["eTag"] == answers[0]["resourceBody"]["_etag"]
    assert all(answer["requestCharge"] > 0 for answer in answers)
    assert float(answers.get_response_headers()["x-ms-request-charge"]) > 0
    assert ids(await collect(container.read_all_items())) == ["1", "2", "3", "5", "6"]
    assert (await container.read_item("2", "a"))["n"] == 2


async def test_failure_rolls_everything_back(container):
    await write(container, item("1", n=1))
    with pytest.raises(CosmosBatchOperationError) as caught:
        await container.execute_item_batch(
            [
                ("upsert", (item("1", n=2),)),
                ("create", (item("2"),)),
                ("create", (item("1"),)),
                ("create", (item("3"),)),
            ],
            "a",
        )
    assert (caught.value.status_code, caught.value.error_index) == (409, 2)
    assert failed(caught) == [424, 424, 409, 424]
    assert ids(await collect(container.read_all_items())) == ["1"]
    assert (await container.read_item("1", "a"))["n"] == 1


@pytest.mark.parametrize(
    "operation, status",
    [
        (("read", ("missing",)), 404),
        (("delete", ("missing",)), 404),
        (("replace", ("missing", item("missing"))), 404),
        (("patch", ("missing", [{"op": "set", "path": "/n", "value": 1}])), 404),
        (("patch", ("1", [{"op": "remove", "path": "/missing"}])), 400),
        (("replace", ("1", item("1")), {"if_match_etag": '"old"'}), 412),
        (("delete", ("1",), {"if_match_etag": '"old"'}), 412),
        (
            ("patch", ("1", [{"op": "set", "path": "/n", "value": 1}]), {"filter_predicate": "from c where c.n = 9"}),
            412,
        ),
    ],
)
async def test_each_kind_reports_its_own_failure(container, operation, status):
    await write(container, item("1", n=1))
    with pytest.raises(CosmosBatchOperationError) as caught:
        # The SDK takes the options out of an operation, so each run needs its own copy.
        await container.execute_item_batch([("create", (item("2"),)), copy.deepcopy(operation)], "a")
    assert failed(caught) == [424, status]
    assert ids(await collect(container.read_all_items())) == ["1"]


async def test_etags_are_honoured(container):
    [made] = await write(container, item("1", n=1))
    answers = await container.execute_item_batch(
        [("replace", ("1", item("1", n=2)), {"if_match_etag": made["_etag"]})], "a"
    )
    assert answers[0]["resourceBody"]["n"] == 2


async def test_operations_see_the_ones_before_them(container):
    answers = await container.execute_item_batch(
        [
            ("create", (item("1", n=1),)),
            ("patch", ("1", [{"op": "incr", "path": "/n", "value": 1}])),
            ("read", ("1",)),
            ("delete", ("1",)),
            ("create", (item("1", n=9),)),
        ],
        "a",
    )
    assert [answer["statusCode"] for answer in answers] == [201, 200, 200, 204, 201]
    assert answers[2]["resourceBody"]["n"] == 2
    assert (await container.read_item("1", "a"))["n"] == 9


async def test_batch_is_limited_to_its_partition_key(container):
    with pytest.raises(CosmosBatchOperationError) as caught:
        await container.execute_item_batch(
            [("create", (item("1"),)), ("create", ({"id": "2", "pk": "b"},))], "a"
        )
    assert failed(caught) == [424, 400]
    assert caught.value.sub_status == 1001
    assert await collect(container.read_all_items()) == []


async def test_batch_without_an_id_is_refused(container):
    with pytest.raises(CosmosBatchOperationError) as caught:
        await container.execute_item_batch([("create", (item("1"),)), ("create", ({"pk": "a"},))], "a")
    assert failed(caught) == [424, 400]


async def test_hundred_operations_are_the_limit(container):
    answers = await container.execute_item_batch([("create", (item(str(n)),)) for n in range(100)], "a")
    assert len(answers) == 100
    with fails(400, "Batch request has more operations than what is supported."):
        await container.execute_item_batch([("create", (item(f"x{n}"),)) for n in range(101)], "a")
    assert len(await collect(container.read_all_items())) == 100


async def test_batch_needs_operations(container):
    with fails(400, "Batch request has no operations."):
        await container.execute_item_batch([], "a")


async def test_two_megabytes_are_the_limit(container):
    half = "x" * 1_100_000
    with fails(413) as caught:
        await container.execute_item_batch(
            [("create", (item("1", text=half),)), ("create", (item("2", text=half),))], "a"
        )
    assert caught.value.message.startswith("(RequestEntityTooLarge)")
    assert await collect(container.read_all_items()) == []


async def test_batch_works_on_a_hierarchical_key(new_container):
    container = await new_container(PartitionKey(["/tenant", "/user"]))
    body = {"id": "1", "tenant": "t", "user": "u"}
    answers = await container.execute_item_batch([("create", (body,)), ("read", ("1",))], ["t", "u"])
    assert [answer["statusCode"] for answer in answers] == [201, 200]
    assert (await container.read_item("1", ["t", "u"]))["id"] == "1"
