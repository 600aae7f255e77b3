"""Patch: every kind of operation, conditions, limits."""

import pytest

from support import Wire, fails, write

ITEM = {
    "id": "1",
    "pk": "a",
    "n": 5,
    "f": 1.5,
    "text": "old",
    "list": [1, 2, 3],
    "address": {"city": "Oslo"},
}


@pytest.fixture
def patch(container):
    async def apply(*operations, **options):
        await container.upsert_item(ITEM)
        return await container.patch_item("1", "a", list(operations), **options)

    return apply


def op(kind, path, value=None, **more):
    return {"op": kind, "path": path, **({} if kind in ("remove", "move") else {"value": value}), **more}


async def test_all_kinds_apply_in_order_as_one_change(patch, container):
    wire = Wire()
    patched = await patch(
        op("add", "/color", "blue"),
        op("set", "/address/street", "Main"),
        op("replace", "/text", "new"),
        op("remove", "/f"),
        op("incr", "/n", 7),
        op("move", "/colour", **{"from": "/color"}),
        raw_response_hook=wire,
    )
    assert wire.status == 200
    assert patched["colour"] == "blue" and "color" not in patched
    assert patched["address"] == {"city": "Oslo", "street": "Main"}
    assert patched["text"] == "new"
    assert "f" not in patched
    assert patched["n"] == 12
    assert await container.read_item("1", "a") == patched


async def test_patch_keeps_the_rid_and_changes_the_etag(container):
    [made] = await write(container, dict(ITEM))
    patched = await container.patch_item("1", "a", [op("set", "/n", 6)])
    assert patched["_rid"] == made["_rid"]
    assert patched["_etag"] != made["_etag"]


@pytest.mark.parametrize(
    "operation, expected",
    [
        (op("add", "/list/1", 9), [1, 9, 2, 3]),
        (op("add", "/list/-", 9), [1, 2, 3, 9]),
        (op("add", "/list/3", 9), [1, 2, 3, 9]),
        (op("set", "/list/1", 9), [1, 9, 3]),
        (op("set", "/list/-", 9), [1, 2, 3, 9]),
        (op("replace", "/list/0", 9), [9, 2, 3]),
        (op("remove", "/list/0"), [2, 3]),
        (op("incr", "/list/2", -1), [1, 2, 2]),
    ],
)
async def test_array_elements_are_addressed_by_index(patch, operation, expected):
    assert (await patch(operation))["list"] == expected


@pytest.mark.parametrize(
    "operation, name, expected",
    [
        (op("add", "/text", "over"), "text", "over"),
        (op("set", "/new", None), "new", None),
        (op("set", "/new", {"a": [1]}), "new", {"a": [1]}),
        (op("incr", "/n", -10), "n", -5),
        (op("incr", "/f", 0.25), "f", 1.75),
        (op("incr", "/fresh", 3), "fresh", 3),
        (op("set", "/a~1b", 1), "a/b", 1),
        (op("set", "/a~0b", 1), "a~b", 1),
        (op("move", "/text", **{"from": "/n"}), "text", 5),
    ],
)
async def test_properties_are_addressed_by_name(patch, operation, name, expected):
    patched = await patch(operation)
    assert patched[name] == expected
    assert type(patched[name]) is type(expected)


@pytest.mark.parametrize(
    "operation",
    [
        op("replace", "/missing", 1),
        op("remove", "/missing"),
        op("incr", "/text", 1),
        op("incr", "/n", "1"),
        op("add", "/list/9", 1),
        op("move", "/target", **{"from": "/missing"}),
        op("move", "/address/inner", **{"from": "/address"}),
        op("rename", "/text", "x"),
        op("set", "text", "x"),
        {"op": "set", "path": "/text"},
    ],
)
async def test_impossible_operation_is_refused_and_changes_nothing(patch, container, operation):
    with fails(400):
        await patch(op("set", "/n", 99), operation)
    assert (await container.read_item("1", "a"))["n"] == 5


async def test_parents_are_not_created(patch):
    with fails(400, "no path found beyond: "):
        await patch(op("add", "/missing/child", 1))
    with fails(400):
        await patch(op("set", "/missing/child", 1))


@pytest.mark.parametrize("path", ["/id", "/pk", "/_ts", "/_etag", "/_rid", "/_self"])
async def test_identity_cannot_be_patched(patch, container, path):
    with fails(400):
        await patch(op("set", path, "other"))
    assert (await container.read_item("1", "a"))["id"] == "1"


async def test_condition_decides(patch):
    assert (await patch(op("set", "/n", 6), filter_predicate="from c where c.n = 5"))["n"] == 6
    with fails(412, "One of the specified pre-condition is not met", sub=1110):
        await patch(op("set", "/n", 7), filter_predicate="from c where c.n > 5")
    assert (await patch(op("set", "/n", 8), filter_predicate="FROM things t WHERE t.address.city = 'Oslo'"))["n"] == 8


async def test_invalid_condition_is_refused(patch):
    with fails(400):
        await patch(op("set", "/n", 6), filter_predicate="from c where where")


async def test_ten_operations_are_the_limit(patch):
    assert (await patch(*(op("incr", "/n", 1) for _ in range(10))))["n"] == 15
    with fails(400):
        await patch(*(op("incr", "/n", 1) for _ in range(11)))
    with fails(400):
        await patch()
