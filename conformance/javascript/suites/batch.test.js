// Transactional batches.

import assert from "node:assert/strict";
import { test } from "node:test";
import { everything, fails, ids, useDatabase, write } from "../support.js";

const owner = useDatabase();
const statuses = (response) => response.result.map((answer) => answer.statusCode);
const create = (id, more = {}) => ({ operationType: "Create", resourceBody: { id, pk: "a", ...more } });

test("all kinds succeed together", async () => {
  const container = await owner.container();
  await write(container, { id: "1", pk: "a", n: 1 }, { id: "2", pk: "a" }, { id: "3", pk: "a", n: 1 }, { id: "4", pk: "a" });
  const response = await container.items.batch(
    [
      create("5"),
      { operationType: "Upsert", resourceBody: { id: "6", pk: "a" } },
      { operationType: "Upsert", resourceBody: { id: "1", pk: "a", n: 2 } },
      { operationType: "Replace", id: "2", resourceBody: { id: "2", pk: "a", n: 2 } },
      { operationType: "Patch", id: "3", resourceBody: { operations: [{ op: "incr", path: "/n", value: 1 }] } },
      { operationType: "Patch", id: "3", resourceBody: [{ op: "incr", path: "/n", value: 1 }] },
      { operationType: "Read", id: "3" },
      { operationType: "Delete", id: "4" },
    ],
    "a",
  );
  assert.equal(response.code, 200);
  assert.deepEqual(statuses(response), [201, 201, 200, 200, 200, 200, 200, 204]);
  assert.equal(response.result[6].resourceBody.n, 3);
  assert.equal(response.result[0].eTag, response.result[0].resourceBody._etag);
  for (const answer of response.result) assert.ok(answer.requestCharge > 0);
  assert.deepEqual(ids(await everything(container)), ["1", "2", "3", "5", "6"]);
});

test("a failure rolls everything back", async () => {
  const container = await owner.container();
  await write(container, { id: "1", pk: "a", n: 1 });
  const response = await container.items.batch(
    [{ operationType: "Upsert", resourceBody: { id: "1", pk: "a", n: 2 } }, create("2"), create("1"), create("3")],
    "a",
  );
  assert.equal(response.code, 207);
  assert.deepEqual(statuses(response), [424, 424, 409, 424]);
  assert.deepEqual(ids(await everything(container)), ["1"]);
  assert.equal((await container.item("1", "a").read()).resource.n, 1);
});

test("each kind reports its own failure", async () => {
  const container = await owner.container();
  await write(container, { id: "1", pk: "a", n: 1 });
  const replacement = { operationType: "Replace", id: "1", resourceBody: { id: "1", pk: "a" } };
  const set = [{ op: "set", path: "/n", value: 1 }];
  const cases = [
    [{ operationType: "Read", id: "missing" }, 404],
    [{ operationType: "Delete", id: "missing" }, 404],
    [{ ...replacement, id: "missing" }, 404],
    [{ ...replacement, ifMatch: '"old"' }, 412],
    [{ operationType: "Patch", id: "missing", resourceBody: { operations: set } }, 404],
    [{ operationType: "Patch", id: "1", resourceBody: { operations: [{ op: "remove", path: "/missing" }] } }, 400],
    [{ operationType: "Patch", id: "1", resourceBody: { operations: set, condition: "from c where c.n = 9" } }, 412],
    [{ operationType: "Create", resourceBody: { id: "9", pk: "b" } }, 400],
  ];
  for (const [operation, status] of cases) {
    const response = await container.items.batch([create("2"), operation], "a");
    assert.deepEqual(statuses(response), [424, status], JSON.stringify(operation));
  }
  assert.deepEqual(ids(await everything(container)), ["1"]);
});

test("a batch can be answered without content", async () => {
  const container = await owner.container();
  await write(container, { id: "1", pk: "a" });
  const response = await container.items.batch([create("2"), { operationType: "Read", id: "1" }], "a", {
    contentResponseOnWriteEnabled: false,
  });
  assert.deepEqual(statuses(response), [201, 200]);
  assert.equal(response.result[0].resourceBody, undefined);
  assert.ok(response.result[0].eTag);
  assert.equal(response.result[1].resourceBody.id, "1");
});

test("keys of every kind have batches", async () => {
  const container = await owner.container();
  for (const pk of ["text", 7, true, null]) {
    const response = await container.items.batch([{ operationType: "Create", resourceBody: { id: "1", pk } }], pk);
    assert.deepEqual(statuses(response), [201], String(pk));
  }
  const missing = await container.items.batch([{ operationType: "Create", resourceBody: { id: "1" } }]);
  assert.deepEqual(statuses(missing), [201]);
  assert.equal((await everything(container)).length, 5);
});

test("a hundred operations are served, none are refused", async () => {
  const container = await owner.container();
  const response = await container.items.batch(Array.from({ length: 100 }, (_, n) => create(`${n}`)), "a");
  assert.equal(response.result.length, 100);
  await fails(container.items.batch([], "a"), 400, "Batch request has no operations.");
});

test("two megabytes are the limit", async () => {
  const container = await owner.container();
  const text = "x".repeat(1_100_000);
  await fails(container.items.batch([create("1", { text }), create("2", { text })], "a"), 413);
  assert.deepEqual(await everything(container), []);
});
