"""Sizes: items, ids, depth."""

import json

import pytest

from support import collect, fails, with_body, write

TWO_MEGABYTES = 2 * 1024 * 1024


async def test_item_just_below_two_megabytes_is_kept(container):
    text = "x" * (TWO_MEGABYTES - 10_000)
    await write(container, {"id": "1", "pk": "a", "text": text})
    assert (await container.read_item("1", "a"))["text"] == text


async def test_item_above_two_megabytes_is_refused(container):
    body = {"id": "1", "pk": "a", "text": "x" * TWO_MEGABYTES}
    with fails(413, "Request size is too large"):
        await container.create_item(body)
    with fails(413):
        await container.upsert_item(body)
    await write(container, {"id": "1", "pk": "a"})
    with fails(413):
        await container.replace_item("1", body)
    assert "text" not in await container.read_item("1", "a")


async def test_patch_cannot_grow_an_item_above_two_megabytes(container):
    await write(container, {"id": "1", "pk": "a", "text": "x" * 1_500_000})
    with fails(413):
        await container.patch_item("1", "a", [{"op": "set", "path": "/more", "value": "x" * 1_000_000}])
    assert "more" not in await container.read_item("1", "a")


async def test_longest_id_is_1023_bytes(container):
    longest = "x" * 1023
    await write(container, {"id": longest, "pk": "a"})
    assert (await container.read_item(longest, "a"))["id"] == longest
    with fails(400, "less than '1024' characters"):
        await container.create_item({"id": "x" * 1024, "pk": "a"})


async def test_pages_end_before_they_grow_too_large(container):
    await write(container, *({"id": str(n), "pk": "a", "text": "x" * 1_200_000} for n in range(5)))
    sizes = [len([item async for item in page]) async for page in container.read_all_items().by_page()]
    assert sum(sizes) == 5
    assert max(sizes) < 5


@pytest.mark.parametrize("depth, status", [(100, 201), (200, 400)])
async def test_nesting_has_a_limit(container, depth, status):
    text = '{"id":"1","pk":"a","v":' + "[" * depth + "]" * depth + "}"
    if status == 201:
        await container.create_item({"id": "1", "pk": "a"}, **with_body(text))
        assert len(await collect(container.read_all_items())) == 1
    else:
        with fails(400):
            await container.create_item({"id": "1", "pk": "a"}, **with_body(text))
        assert await collect(container.read_all_items()) == []


@pytest.mark.parametrize("value", [7, None, True, ["1"], {"a": 1}, ""])
async def test_id_must_be_text(container, value):
    with fails(400):
        await container.create_item({"id": "1", "pk": "a"}, **with_body(_body(value)))


@pytest.mark.parametrize(
    "text", ["", "nonsense", '{"id":"1","pk":"a"', "[]", '"text"', '{"id":"1","pk":"a","n":NaN}', '{"id":"1","pk":"a","n":1e400}']
)
async def test_body_must_be_a_json_object(container, text):
    with fails(400):
        await container.create_item({"id": "1", "pk": "a"}, **with_body(text))
    assert await collect(container.read_all_items()) == []


def _body(identity):
    return json.dumps({"id": identity, "pk": "a"})
