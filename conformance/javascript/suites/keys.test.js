// Partition keys: values of every type, missing, null, empty, nested, hierarchical, mismatched.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PartitionKeyBuilder } from "@azure/cosmos";
import { everything, fails, ids, useDatabase, write } from "../support.js";

const owner = useDatabase();
const header = (value) => ({ initialHeaders: { "x-ms-documentdb-partitionkey": value } });
const values = ["a", "", "1", 1, -1.5, 0, 1e100, true, false, null, "東京", "🚀", "a\nb", 'quote"d'];

for (const partitionKey of [{ paths: ["/pk"], kind: "Hash", version: 2 }, "/pk"]) {
  test(`every type of value is a key of its own (${JSON.stringify(partitionKey)})`, async () => {
    const container = await owner.container({ partitionKey });
    for (const [n, pk] of values.entries()) await write(container, { id: "1", pk, n });
    for (const [n, pk] of values.entries()) {
      assert.equal((await container.item("1", pk).read()).resource.n, n, String(pk));
    }
    assert.equal((await everything(container)).length, values.length);
  });
}

test("missing, null and empty are three different things", async () => {
  const container = await owner.container();
  await write(container, { id: "1", which: "missing" }, { id: "1", pk: null, which: "null" });
  assert.equal((await container.item("1", undefined).read()).resource.which, "missing");
  assert.equal((await container.item("1", {}).read()).resource.which, "missing");
  assert.equal((await container.item("1", null).read()).resource.which, "null");
  await fails(container.item("1", []).read(), 400, 1001);
  await container.item("1", undefined).replace({ id: "1", which: "still missing" });
  await container.item("1", null).delete();
  assert.deepEqual((await everything(container)).map((item) => item.which), ["still missing"]);
});

test("id can be the key", async () => {
  const container = await owner.container({ partitionKey: { paths: ["/id"], kind: "Hash", version: 2 } });
  await write(container, { id: "1", n: 1 }, { id: "2" });
  assert.equal((await container.item("1", "1").read()).resource.n, 1);
  await fails(container.items.create({ id: "1" }), 409);
  await container.item("2", "2").delete();
  assert.deepEqual(ids(await everything(container)), ["1"]);
});

test("key paths can be nested and quoted", async () => {
  const container = await owner.container({ partitionKey: { paths: ['/address/"zip code"'], kind: "Hash", version: 2 } });
  await write(container, { id: "1", address: { "zip code": "0150" } }, { id: "1", address: {} });
  assert.deepEqual((await container.item("1", "0150").read()).resource.address, { "zip code": "0150" });
  assert.deepEqual((await container.item("1", undefined).read()).resource.address, {});
});

test("hierarchical keys need all their levels for an item", async () => {
  const partitionKey = { paths: ["/tenant", "/user", "/session"], kind: "MultiHash", version: 2 };
  const container = await owner.container({ partitionKey });
  await write(container, { id: "1", tenant: "t", user: 1, session: true }, { id: "1", tenant: "t", user: "1", session: true });
  const full = new PartitionKeyBuilder().addValue("t").addValue(1).addValue(true).build();
  assert.equal((await container.item("1", full).read()).resource.user, 1);
  await container.item("1", full).replace({ id: "1", tenant: "t", user: 1, session: true, n: 1 });
  await container.item("1", full).patch([{ op: "incr", path: "/n", value: 1 }]);
  assert.equal((await container.item("1", full).read()).resource.n, 2);
  await fails(container.item("1", ["t", 1]).read(), 400, 1001);
  await fails(container.item("1", ["t", 1, true, "more"]).read(), 400);
  await container.item("1", full).delete();
  assert.equal((await everything(container)).length, 1);
});

test("a missing level is a value of its own", async () => {
  const container = await owner.container({ partitionKey: { paths: ["/a", "/b"], kind: "MultiHash", version: 2 } });
  await write(container, { id: "1", a: "x", n: 1 }, { id: "1", a: "x", b: null, n: 2 }, { id: "1", b: "y", n: 3 });
  const at = (build) => container.item("1", build(new PartitionKeyBuilder()).build());
  assert.equal((await at((key) => key.addValue("x").addNoneValue()).read()).resource.n, 1);
  assert.equal((await at((key) => key.addValue("x").addNullValue()).read()).resource.n, 2);
  assert.equal((await at((key) => key.addNoneValue().addValue("y")).read()).resource.n, 3);
});

test("the key of an item cannot be changed", async () => {
  const container = await owner.container();
  await write(container, { id: "1", pk: "a" });
  await fails(container.item("1", "a").replace({ id: "1", pk: "b" }), 400, 1001);
  await fails(container.item("1", "a").replace({ id: "1" }), 400, 1001);
  assert.equal((await container.item("1", "a").read()).resource.pk, "a");
});

test("the key of header and body must agree", async () => {
  const container = await owner.container();
  await fails(container.items.create({ id: "1", pk: "a" }, header('["b"]')), 400, 1001, "doesn't match");
  await fails(container.items.upsert({ id: "1", pk: "a" }, header("[{}]")), 400, 1001);
  assert.deepEqual(await everything(container), []);
});

test("objects and arrays are no keys, neither are long texts", async () => {
  const container = await owner.container();
  await fails(container.items.create({ id: "1", pk: { an: "object" } }, header('["a"]')), 400);
  await fails(container.items.create({ id: "1", pk: ["an array"] }, header('["a"]')), 400);
  await fails(container.items.create({ id: "1", pk: "x".repeat(2049) }), 400);
  await write(container, { id: "1", pk: "x".repeat(2048) });
  assert.equal((await container.item("1", "x".repeat(2048)).read()).statusCode, 200);
});

test("a logical partition can be deleted at once", async () => {
  const container = await owner.container();
  await write(container, { id: "1", pk: "a" }, { id: "2", pk: "a" }, { id: "3", pk: "b" }, { id: "4", pk: null });
  await container.deleteAllItemsForPartitionKey("a");
  assert.deepEqual(ids(await everything(container)), ["3", "4"]);
  await container.deleteAllItemsForPartitionKey(null);
  assert.deepEqual(ids(await everything(container)), ["3"]);
  await write(container, { id: "1", pk: "a" });
  assert.equal((await container.item("1", "a").read()).statusCode, 200);
});
