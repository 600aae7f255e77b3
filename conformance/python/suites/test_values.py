"""JSON values come back as they were sent: numbers with their text, strings with every character."""

import pytest

from support import Wire, fails, ids, collect, with_body, write

NUMBERS = [
    "0", "1", "-1", "9007199254740991", "9007199254740993", "-9007199254740993",
    "9223372036854775807", "-9223372036854775808", "18446744073709551615",
    "1.0", "-0", "-0.0", "0.1", "1e-7", "1E+5", "1.50", "123456789.123456789",
    "2.2250738585072014e-308", "5e-324", "1.7976931348623157e308", "1e-400", "0.30000000000000004",
]  # fmt: skip


async def test_numbers_keep_their_text(container):
    wire = Wire()
    for text in NUMBERS:
        body = f'{{"id":"1","pk":"a","n":{text},"list":[{text}]}}'
        await container.upsert_item({"id": "1", "pk": "a"}, raw_response_hook=wire, **with_body(body))
        assert f'"n":{text},"list":[{text}]' in wire.text
        await container.read_item("1", "a", raw_response_hook=wire)
        assert f'"n":{text},"list":[{text}]' in wire.text


async def test_large_integers_survive_the_sdk(container):
    values = {"n1": 9007199254740993, "n2": -(2**63), "n3": 2**64 - 1, "f": 0.1 + 0.2, "whole": 1.0}
    await write(container, {"id": "1", "pk": "a", **values})
    found = await container.read_item("1", "a")
    assert {name: found[name] for name in values} == values
    assert type(found["whole"]) is float


STRINGS = {
    "unicode": "größe 東京 🚀 \u200d\U0001f469\u200d\U0001f680",
    "controls": "".join(chr(code) for code in range(32)),
    "quotes": "\\ \" ' / \u2028 \u2029 \x7f",
    "combining": "e\u0301 is not \u00e9",
    "html": "<script>&amp;</script>",
    "long": "ß" * 10_000,
}


async def test_strings_keep_their_characters(container):
    for name, text in STRINGS.items():
        await write(container, {"id": name, "pk": "a", "text": text, text[:200]: 1})
        found = await container.read_item(name, "a")
        assert (found["text"], found[text[:200]]) == (text, 1)


async def test_lone_surrogate_becomes_the_replacement_character(container):
    await container.create_item(
        {"id": "1", "pk": "a"}, **with_body('{"id":"1","pk":"a","text":"x\\ud800y"}')
    )
    assert (await container.read_item("1", "a"))["text"] == "x\ufffdy"


@pytest.mark.parametrize("body", ['{"id":"2","pk":"a","n":1,"n":2}', '{"id":"1","id":"2","pk":"a","n":2}'])
async def test_of_two_properties_of_one_name_the_last_stays(container, body):
    await container.create_item({"id": "2", "pk": "a"}, **with_body(body))
    assert (await container.read_item("2", "a"))["n"] == 2
    assert ids(await collect(container.read_all_items())) == ["2"]


ODD_IDS = [
    "with space", "plus+sign", "per%cent", "%41", "amp&ersand", "semi;colon", "equals=sign", "at@sign", "dollar$",
    "comma,", "paren()", "brack[]{}", "pipe|", "tilde~", "back`tick", "quote'", 'double"quote', "star*", "bang!",
    "caret^", "<angle>", "dot.", "..", "...", "é", "東京", "🚀", "e\u0301", " leading", "UPPER", "upper",
    "docs", "null", "true", "0", "AQAAAA==", "a:b", "-_-", "a\u00a0b",
]  # fmt: skip


async def test_odd_ids_address_their_item(container):
    for name in ODD_IDS:
        await container.create_item({"id": name, "pk": "a"})
    assert ids(await collect(container.read_all_items())) == sorted(ODD_IDS)
    for name in ODD_IDS:
        if name in (".", ".."):
            continue  # HTTP libraries fold such a path before it leaves the client.
        assert (await container.read_item(name, "a"))["id"] == name
        await container.delete_item(name, "a")


@pytest.mark.parametrize("name", ["a/b", "a\\b", "a#b", "a?b"])
async def test_ids_that_would_break_a_path_are_stopped(container, name):
    with pytest.raises(ValueError):
        await container.create_item({"id": name, "pk": "a"})
    # The SDK stops them; the service stores them, and then finds them by no path.
    await container.create_item({"id": "1", "pk": "a"}, **with_body(_item(name)))
    assert ids(await collect(container.read_all_items())) == [name]


def _item(name):
    return '{"id":"%s","pk":"a"}' % name.replace("\\", "\\\\")
