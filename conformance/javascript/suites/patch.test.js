// Patch: every kind of operation, conditions, limits.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fails, useDatabase } from "../support.js";

const owner = useDatabase();
const original = { id: "1", pk: "a", n: 5, f: 1.5, text: "old", list: [1, 2, 3], address: { city: "Oslo" } };

async function fresh() {
  const container = await owner.container();
  await container.items.create({ ...original });
  return container.item("1", "a");
}

async function patched(operations) {
  return (await (await fresh()).patch(operations)).resource;
}

test("all kinds apply in order as one change", async () => {
  const item = await fresh();
  const { resource: before } = await item.read();
  const { resource, statusCode } = await item.patch([
    { op: "add", path: "/color", value: "blue" },
    { op: "set", path: "/address/street", value: "Main" },
    { op: "replace", path: "/text", value: "new" },
    { op: "remove", path: "/f" },
    { op: "incr", path: "/n", value: 7 },
    { op: "move", from: "/color", path: "/colour" },
  ]);
  assert.equal(statusCode, 200);
  assert.equal(resource.colour, "blue");
  assert.equal(resource.color, undefined);
  assert.deepEqual(resource.address, { city: "Oslo", street: "Main" });
  assert.equal(resource.text, "new");
  assert.equal(resource.f, undefined);
  assert.equal(resource.n, 12);
  assert.equal(resource._rid, before._rid);
  assert.notEqual(resource._etag, before._etag);
  assert.deepEqual((await item.read()).resource, resource);
});

test("array elements are addressed by index", async () => {
  const cases = [
    [{ op: "add", path: "/list/1", value: 9 }, [1, 9, 2, 3]],
    [{ op: "add", path: "/list/-", value: 9 }, [1, 2, 3, 9]],
    [{ op: "add", path: "/list/3", value: 9 }, [1, 2, 3, 9]],
    [{ op: "set", path: "/list/1", value: 9 }, [1, 9, 3]],
    [{ op: "replace", path: "/list/0", value: 9 }, [9, 2, 3]],
    [{ op: "remove", path: "/list/0" }, [2, 3]],
    [{ op: "incr", path: "/list/2", value: -1 }, [1, 2, 2]],
  ];
  for (const [operation, expected] of cases) {
    assert.deepEqual((await patched([operation])).list, expected, JSON.stringify(operation));
  }
});

test("increments create, add and keep fractions", async () => {
  const found = await patched([
    { op: "incr", path: "/fresh", value: 3 },
    { op: "incr", path: "/n", value: -10 },
    { op: "incr", path: "/f", value: 0.25 },
  ]);
  assert.deepEqual([found.fresh, found.n, found.f], [3, -5, 1.75]);
});

const impossible = {
  "replacing what is missing": { op: "replace", path: "/missing", value: 1 },
  "removing what is missing": { op: "remove", path: "/missing" },
  "incrementing text": { op: "incr", path: "/text", value: 1 },
  "adding beyond the end": { op: "add", path: "/list/9", value: 1 },
  "adding without a parent": { op: "add", path: "/missing/child", value: 1 },
  "moving what is missing": { op: "move", from: "/missing", path: "/x" },
  "moving into itself": { op: "move", from: "/address", path: "/address/inner" },
  "an unknown kind": { op: "rename", path: "/text", value: "x" },
  "a path without a slash": { op: "set", path: "text", value: "x" },
  "a new id": { op: "set", path: "/id", value: "2" },
  "a new partition key": { op: "set", path: "/pk", value: "b" },
  "a new etag": { op: "set", path: "/_etag", value: "x" },
};
for (const [what, operation] of Object.entries(impossible)) {
  test(`${what} is refused and changes nothing`, async () => {
    const item = await fresh();
    await fails(item.patch([{ op: "set", path: "/n", value: 99 }, operation]), 400);
    assert.equal((await item.read()).resource.n, 5);
  });
}

test("a missing parent is named", async () => {
  const item = await fresh();
  await fails(item.patch([{ op: "add", path: "/missing/child", value: 1 }]), 400, "no path found beyond: ");
});

test("a condition decides", async () => {
  const item = await fresh();
  const operations = [{ op: "incr", path: "/n", value: 1 }];
  assert.equal((await item.patch({ condition: "from c where c.n = 5", operations })).resource.n, 6);
  await fails(
    item.patch({ condition: "from c where c.n = 5", operations }),
    412,
    1110,
    "One of the specified pre-condition is not met",
  );
  await fails(item.patch({ condition: "from c where where", operations }), 400);
  assert.equal((await item.read()).resource.n, 6);
});

test("ten operations are the limit", async () => {
  const item = await fresh();
  const increments = (count) => Array.from({ length: count }, () => ({ op: "incr", path: "/n", value: 1 }));
  assert.equal((await item.patch(increments(10))).resource.n, 15);
  await fails(item.patch(increments(11)), 400);
  await fails(item.patch([]), 400);
});
