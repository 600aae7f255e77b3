// The queries that the SDK itself depends on, and the plainest ones of an application.

import assert from "node:assert/strict";
import { test } from "node:test";
import { byPk, client, connect, fails, ids, readOnlyKey, unique, useDatabase, write } from "../support.js";

const owner = useDatabase();
const names = (count) => Array.from({ length: count }, (_, n) => `${n}`.padStart(3, "0"));
let filled;

/** One container with fifty items for all the tests here that only read. */
function things() {
  filled ??= (async () => {
    const container = await owner.container();
    for (let n = 0; n < 50; n += 1) await write(container, { id: names(50)[n], pk: `key${n % 10}`, n });
    return container;
  })();
  return filled;
}

const run = async (container, query, options) => (await container.items.query(query, options).fetchAll()).resources;

test("every item is found across partitions", async () => {
  const container = await things();
  assert.deepEqual(ids(await run(container, "SELECT * FROM c")), names(50));
  assert.deepEqual(ids((await container.items.readAll().fetchAll()).resources), names(50));
});

test("filters and parameters apply", async () => {
  const query = {
    query: "SELECT VALUE c.id FROM c WHERE c.n >= @low AND c.n < @high",
    parameters: [{ name: "@low", value: 10 }, { name: "@high", value: 13 }],
  };
  assert.deepEqual((await run(await things(), query)).sort(), ["010", "011", "012"]);
});

test("a partition key scopes a query", async () => {
  const found = await run(await things(), "SELECT * FROM c", { partitionKey: "key3" });
  assert.deepEqual(ids(found), ["003", "013", "023", "033", "043"]);
});

test("pages resume from their token", async () => {
  const container = await things();
  const options = { partitionKey: "key3", maxItemCount: 2 };
  const first = await container.items.query("SELECT * FROM c", options).fetchNext();
  assert.equal(first.resources.length, 2);
  const rest = await run(container, "SELECT * FROM c", { ...options, continuationToken: first.continuationToken });
  assert.deepEqual(ids([...first.resources, ...rest]), ["003", "013", "023", "033", "043"]);
});

const planned = {
  "SELECT VALUE COUNT(1) FROM c": [50],
  "SELECT VALUE SUM(c.n) FROM c": [1225],
  "SELECT VALUE AVG(c.n) FROM c": [24.5],
  "SELECT VALUE c.n FROM c ORDER BY c.n DESC OFFSET 1 LIMIT 3": [48, 47, 46],
  "SELECT TOP 2 VALUE c.n FROM c ORDER BY c.n": [0, 1],
};
for (const [query, expected] of Object.entries(planned)) {
  for (const forceQueryPlan of [false, true]) {
    test(`${query} ${forceQueryPlan ? "by the plan" : "as it comes"}`, async () => {
      assert.deepEqual(await run(await things(), query, { forceQueryPlan }), expected);
    });
  }
}

test("the query plan is served", async () => {
  const { result: plan } = await (await things()).getQueryPlan("SELECT VALUE COUNT(1) FROM c");
  assert.ok(plan.partitionedQueryExecutionInfoVersion >= 1);
  assert.deepEqual(plan.queryInfo.aggregates, ["Count"]);
  assert.equal(plan.queryRanges[0].min, "");
  assert.equal(plan.queryRanges[0].max, "FF");
});

test("metadata can be queried", async () => {
  const byId = (id) => ({ query: "SELECT * FROM root r WHERE r.id = @id", parameters: [{ name: "@id", value: id }] });
  const container = await things();
  const found = async (iterator) => ids((await iterator.fetchAll()).resources);
  assert.deepEqual(await found(client.databases.query(byId(owner.database.id))), [owner.database.id]);
  assert.deepEqual(await found(owner.database.containers.query(byId(container.id))), [container.id]);
  const { user } = await owner.database.users.create({ id: unique("user") });
  assert.deepEqual(await found(owner.database.users.query(byId(user.id))), [user.id]);
});

test("a syntax error is reported", async () => {
  await fails(run(await things(), "SELECT * FROMM c"), 400, "SC1001");
});

test("a hierarchical prefix scopes a query", async () => {
  const partitionKey = { paths: ["/tenant", "/user"], kind: "MultiHash", version: 2 };
  const container = await owner.container({ partitionKey });
  await write(container, { id: "1", tenant: "t1", user: "a" }, { id: "2", tenant: "t1", user: "b" }, { id: "3", tenant: "t2", user: "a" });
  const filtered = await run(container, "SELECT * FROM c WHERE c.tenant = 't1'");
  assert.deepEqual(ids(filtered), ["1", "2"]);
  assert.deepEqual(ids(await run(container, "SELECT * FROM c", { partitionKey: ["t1", "b"] })), ["2"]);
});

test("the read-only key queries", { skip: readOnlyKey ? false : "ORRERY_READ_ONLY_KEY is not set" }, async () => {
  const container = await things();
  const reader = connect({ key: readOnlyKey });
  const seen = reader.database(owner.database.id).container(container.id);
  assert.equal((await run(seen, "SELECT * FROM c")).length, 50);
  reader.dispose();
});

test("a read token queries its container, scoped by key", async () => {
  const container = await owner.container({ partitionKey: byPk });
  await write(container, { id: "1", pk: "a" }, { id: "2", pk: "b" });
  const link = `dbs/${owner.database.id}/colls/${container.id}`;
  const { user } = await owner.database.users.create({ id: unique("user") });
  const { resource } = await user.permissions.create({ id: "p", permissionMode: "Read", resource: link });
  const bearer = connect({ resourceTokens: { [link]: resource._token } });
  const seen = bearer.database(owner.database.id).container(container.id);
  assert.deepEqual(ids(await run(seen, "SELECT * FROM c", { partitionKey: "a" })), ["1"]);
  bearer.dispose();
});
