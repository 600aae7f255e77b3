// Bulk: operations of many keys, grouped by range in the SDK, independent of each other.

import assert from "node:assert/strict";
import { test } from "node:test";
import { byPk, everything, ids, useDatabase, write } from "../support.js";

const owner = useDatabase();
const create = (id, pk, more = {}) => ({ operationType: "Create", partitionKey: pk, resourceBody: { id, pk, ...more } });

const definitions = {
  "the second hash": { partitionKey: byPk },
  "the first hash": { partitionKey: "/pk" },
};

for (const [name, definition] of Object.entries(definitions)) {
  test(`bulk finds the ranges of ${name}`, async () => {
    const container = await owner.container({ ...definition, throughput: 24000 });
    const keys = ["a", "b", "c", "é", 1, -1.5, true, false, null, "", ...Array.from({ length: 30 }, (_, n) => `key${n}`)];
    const answers = await container.items.bulk(keys.map((pk, n) => create(`${n}`, pk)));
    assert.deepEqual(answers.map((answer) => answer.statusCode), keys.map(() => 201));
    answers.forEach((answer, n) => assert.equal(answer.resourceBody.id, `${n}`));
    assert.equal((await everything(container)).length, keys.length);
    for (const [n, pk] of keys.entries()) {
      assert.equal((await container.item(`${n}`, pk).read()).statusCode, 200, String(pk));
    }
  });
}

test("every kind of operation is served, failures stay alone", async () => {
  const container = await owner.container();
  await write(container, { id: "1", pk: "a", n: 1 }, { id: "2", pk: "b", n: 1 }, { id: "3", pk: "c" });
  const answers = await container.items.bulk([
    create("4", "a"),
    create("1", "a"),
    { operationType: "Upsert", partitionKey: "b", resourceBody: { id: "5", pk: "b" } },
    { operationType: "Replace", id: "2", partitionKey: "b", resourceBody: { id: "2", pk: "b", n: 2 } },
    { operationType: "Read", id: "1", partitionKey: "a" },
    { operationType: "Read", id: "missing", partitionKey: "a" },
    { operationType: "Delete", id: "3", partitionKey: "c" },
    { operationType: "Patch", id: "1", partitionKey: "a", resourceBody: { operations: [{ op: "incr", path: "/n", value: 1 }] } },
  ]);
  assert.deepEqual(answers.map((answer) => answer.statusCode), [201, 409, 201, 200, 200, 404, 204, 200]);
  assert.deepEqual(ids(await everything(container)), ["1", "2", "4", "5"]);
  assert.equal((await container.item("1", "a").read()).resource.n, 2);
});

test("hierarchical keys have bulk", async () => {
  const partitionKey = { paths: ["/tenant", "/user"], kind: "MultiHash", version: 2 };
  const container = await owner.container({ partitionKey, throughput: 24000 });
  const operations = Array.from({ length: 30 }, (_, n) => {
    const [tenant, user] = [`t${n % 4}`, n];
    return { operationType: "Create", partitionKey: [tenant, user], resourceBody: { id: `${n}`, tenant, user } };
  });
  const answers = await container.items.bulk(operations);
  assert.deepEqual(new Set(answers.map((answer) => answer.statusCode)), new Set([201]));
  assert.equal((await everything(container)).length, 30);
});

test("missing keys have bulk", async () => {
  const container = await owner.container();
  const answers = await container.items.bulk([{ operationType: "Create", partitionKey: {}, resourceBody: { id: "1" } }]);
  assert.deepEqual(answers.map((answer) => answer.statusCode), [201]);
  assert.equal((await container.item("1", undefined).read()).statusCode, 200);
});

test("the executor of many operations serves them all", async () => {
  const container = await owner.container();
  const operations = Array.from({ length: 250 }, (_, n) => create(`${n}`, `key${n % 20}`));
  const results = await container.items.executeBulkOperations([...operations, create("0", "key0")]);
  const codes = results.map((result) => result.response?.statusCode ?? result.error?.code);
  assert.equal(codes.filter((code) => code === 201).length, 250);
  assert.equal(codes.filter((code) => code === 409).length, 1);
  assert.equal((await everything(container)).length, 250);
});
