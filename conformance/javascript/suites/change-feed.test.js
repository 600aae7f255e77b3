// Change feed, latest version: starts, scopes, pages, resumption.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ChangeFeedStartFrom } from "@azure/cosmos";
import { changes, fails, ids, sleep, useDatabase, write } from "../support.js";

const owner = useDatabase();
const { Beginning, Continuation, Now, Time } = ChangeFeedStartFrom;
const from = (changeFeedStartFrom, more = {}) => ({ changeFeedStartFrom, ...more });
const many = (count, keys) => Array.from({ length: count }, (_, n) => ({ id: `${n}`.padStart(3, "0"), pk: `key${n % keys}` }));

test("the feed from the beginning holds every item once", async () => {
  const container = await owner.container();
  const made = await write(container, ...many(40, 11));
  const { items } = await changes(container, from(Beginning()));
  assert.deepEqual(ids(items), ids(made));
  for (const item of items) assert.ok(Number.isInteger(item._lsn));
});

test("the feed shows the newest version and no deletes", async () => {
  const container = await owner.container();
  await write(container, { id: "1", pk: "a", n: 1 }, { id: "2", pk: "a" }, { id: "3", pk: "a" });
  await container.item("1", "a").replace({ id: "1", pk: "a", n: 2 });
  await container.item("2", "a").delete();
  const { items } = await changes(container, from(Beginning("a")));
  assert.deepEqual(items.map((item) => item.id), ["3", "1"]);
  assert.equal(items[1].n, 2);
});

test("the feed from now shows later changes only", async () => {
  const container = await owner.container();
  await write(container, ...many(10, 5));
  const start = await changes(container, from(Now()));
  assert.deepEqual(start.items, []);
  await write(container, { id: "new", pk: "a" });
  await container.items.upsert({ id: "003", pk: "key3", changed: true });
  const next = await changes(container, from(Continuation(start.continuation)));
  assert.deepEqual(ids(next.items), ["003", "new"]);
  assert.deepEqual((await changes(container, from(Continuation(next.continuation)))).items, []);
});

test("the feed from a time shows later changes only", async () => {
  const container = await owner.container();
  await write(container, { id: "before", pk: "a" }, { id: "before too", pk: "b" });
  await sleep(2100);
  const [after] = await write(container, { id: "after", pk: "a" }, { id: "after too", pk: "b" });
  const { items } = await changes(container, from(Time(new Date((after._ts - 1) * 1000))));
  assert.deepEqual(ids(items), ["after", "after too"]);
});

test("the feed of a partition key holds its items in order", async () => {
  const container = await owner.container();
  await write(container, ...many(30, 3), { id: "null", pk: null }, { id: "missing" });
  const { items, continuation } = await changes(container, from(Beginning("key1")));
  assert.deepEqual(items.map((item) => Number(item.id)), [1, 4, 7, 10, 13, 16, 19, 22, 25, 28]);
  assert.deepEqual(ids((await changes(container, from(Beginning(null)))).items), ["null"]);
  await write(container, { id: "x", pk: "key1" }, { id: "y", pk: "key2" });
  assert.deepEqual(ids((await changes(container, from(Continuation(continuation)))).items), ["x"]);
});

for (const partitionKey of ["/pk", { paths: ["/pk"], kind: "Hash", version: 2 }]) {
  test(`feeds of the ranges tile the container (${JSON.stringify(partitionKey)})`, async () => {
    const container = await owner.container({ partitionKey, throughput: 18000 });
    const made = await write(container, ...many(60, 60));
    const ranges = await container.getFeedRanges();
    assert.ok(ranges.length >= 3);
    const parts = [];
    for (const range of ranges) parts.push((await changes(container, from(Beginning(range)))).items);
    assert.deepEqual(ids(parts.flat()), ids(made));
    assert.ok(parts.filter((part) => part.length > 0).length > 1);
  });
}

test("a feed range may be narrower than a range", async () => {
  const container = await owner.container();
  const made = await write(container, ...many(40, 40));
  const [whole] = await container.getFeedRanges();
  // Halves of the second hash's space: the SDK adds effective-partition-key headers where they cut a range.
  const middle = "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF";
  const halves = [["", middle], [middle, "FF"]].map(([minInclusive, maxExclusive]) =>
    Object.freeze(Object.assign(Object.create(Object.getPrototypeOf(whole)), { minInclusive, maxExclusive })),
  );
  const parts = [];
  for (const half of halves) parts.push((await changes(container, from(Beginning(half)))).items);
  assert.deepEqual(ids(parts.flat()), ids(made));
  assert.ok(parts[0].length > 0 && parts[1].length > 0);
});

test("a prefix of a hierarchical key scopes the feed", async () => {
  const partitionKey = { paths: ["/tenant", "/user"], kind: "MultiHash", version: 2 };
  const container = await owner.container({ partitionKey });
  await write(container, { id: "1", tenant: "t1", user: "a" }, { id: "2", tenant: "t1", user: "b" }, { id: "3", tenant: "t2", user: "a" });
  assert.deepEqual(ids((await changes(container, from(Beginning(["t1"])))).items), ["1", "2"]);
  assert.deepEqual(ids((await changes(container, from(Beginning(["t1", "b"])))).items), ["2"]);
});

test("pages hold what was asked for, and never divide a batch", async () => {
  const container = await owner.container();
  await write(container, ...many(20, 1));
  const { pages } = await changes(container, from(Beginning("key0"), { maxItemCount: 6 }));
  assert.deepEqual(pages.map((page) => page.length), [6, 6, 6, 2]);

  await container.items.batch(["x", "y", "z"].map((id) => ({ operationType: "Create", resourceBody: { id, pk: "b" } })), "b");
  const batch = await changes(container, from(Beginning("b"), { maxItemCount: 1 }));
  assert.deepEqual(batch.pages.map(ids), [["x", "y", "z"]]);
});

test("the older iterator reads a partition key to its end", async () => {
  const container = await owner.container();
  await write(container, ...many(9, 2));
  const feed = container.items.changeFeed("key0", { startFromBeginning: true, maxItemCount: 2 });
  const found = [];
  while (feed.hasMoreResults) found.push(...((await feed.fetchNext()).result ?? []));
  assert.deepEqual(ids(found), ["000", "002", "004", "006", "008"]);
});

test("the feed of a missing container is not found", async () => {
  const missing = owner.database.container("missing");
  const feed = missing.items.getChangeFeedIterator(from(Beginning()));
  await assert.rejects(feed.readNext());
  await fails(missing.read(), 404);
});
