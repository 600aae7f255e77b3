// JSON values and odd ids come back as they were sent; sizes have limits.

import assert from "node:assert/strict";
import { test } from "node:test";
import { everything, fails, ids, useDatabase, write } from "../support.js";

const owner = useDatabase();

test("numbers are exact", async () => {
  const container = await owner.container();
  const numbers = [
    0, 1, -1, 0.1, 0.1 + 0.2, 1e-7, 1e21, 123456789.123456789, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER,
    Number.MAX_VALUE, Number.MIN_VALUE, 2 ** 53, 5e-324, 2.2250738585072014e-308,
  ];
  await write(container, { id: "1", pk: "a", numbers });
  assert.deepEqual((await container.item("1", "a").read()).resource.numbers, numbers);
});

test("strings keep every character", async () => {
  const container = await owner.container();
  const strings = [
    "größe 東京 🚀 \u200d", "\\ \" ' / \u2028 \u2029 \x7f", "e\u0301 is not \u00e9", "ß".repeat(10_000),
    String.fromCharCode(...Array.from({ length: 32 }, (_, code) => code)),
  ];
  await write(container, { id: "1", pk: "a", strings });
  assert.deepEqual((await container.item("1", "a").read()).resource.strings, strings);
});

test("odd ids address their item", async () => {
  const container = await owner.container();
  const odd = [
    "with space", "plus+sign", "amp&ersand", "semi;colon", "equals=sign", "at@sign", "dollar$", "comma,", "paren()",
    "brack[]{}", "pipe|", "tilde~", "back`tick", "quote'", 'double"quote', "star*", "bang!", "caret^", "<angle>", "dot.",
    "...", "é", "東京", "🚀", "e\u0301", " leading", "UPPER", "upper", "docs", "null", "0", "AQAAAA==", "a:b", "per%cent",
  ];
  for (const id of odd) await write(container, { id, pk: "a" });
  assert.deepEqual(ids(await everything(container)), [...odd].sort());
  for (const id of odd) {
    assert.equal((await container.item(id, "a").read()).resource?.id, id, id);
    assert.equal((await container.item(id, "a").delete()).statusCode, 204, id);
  }
});

test("an item has a limit of two megabytes", async () => {
  const container = await owner.container();
  const limit = 2 * 1024 * 1024;
  await write(container, { id: "1", pk: "a", text: "x".repeat(limit - 10_000) });
  assert.equal((await container.item("1", "a").read()).resource.text.length, limit - 10_000);
  const body = { id: "2", pk: "a", text: "x".repeat(limit) };
  await fails(container.items.create(body), 413, "Request size is too large");
  await fails(container.items.upsert(body), 413);
  await fails(container.item("1", "a").replace({ ...body, id: "1" }), 413);
  assert.deepEqual(ids(await everything(container)), ["1"]);
});

test("an id has a limit of 1023 bytes", async () => {
  const container = await owner.container();
  const longest = "x".repeat(1023);
  await write(container, { id: longest, pk: "a" });
  assert.equal((await container.item(longest, "a").read()).statusCode, 200);
  await fails(container.items.create({ id: `${longest}x`, pk: "a" }), 400, "less than '1024' characters");
});

test("deep nesting has a limit", async () => {
  const container = await owner.container();
  const nested = (depth) => JSON.parse("[".repeat(depth) + "]".repeat(depth));
  await write(container, { id: "1", pk: "a", v: nested(100) });
  await fails(container.items.create({ id: "2", pk: "a", v: nested(200) }), 400);
  assert.deepEqual(ids(await everything(container)), ["1"]);
});
