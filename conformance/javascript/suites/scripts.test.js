// Stored procedures, triggers and functions: kept, run, and failing as the service fails.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fails, useDatabase, write } from "../support.js";

const owner = useDatabase();

async function procedure(container, id, body) {
  await container.scripts.storedProcedures.create({ id, body });
  return (...args) => container.scripts.storedProcedure(id).execute("a", args);
}

test("scripts are created, read, queried, replaced and deleted", async () => {
  const { scripts } = await owner.container();
  const { resource } = await scripts.storedProcedures.create({ id: "p", body: "function () { var x = 10; }" });
  assert.equal(resource.body, "function () { var x = 10; }");
  // A function becomes its text.
  const replaced = await scripts.storedProcedure("p").replace({ id: "p", body: function () { const x = 20; } });
  assert.equal(replaced.resource.body, "function () { const x = 20; }");
  const query = { query: "SELECT * FROM root r WHERE r.id = @id", parameters: [{ name: "@id", value: "p" }] };
  assert.equal((await scripts.storedProcedures.query(query).fetchAll()).resources.length, 1);
  await scripts.storedProcedure("p").delete();
  await fails(scripts.storedProcedure("p").read(), 404);
  // Bodies are compiled when they run, not when they are kept.
  const odd = { id: "t", body: "serverScript() { var x = 10; }", triggerType: "Pre", triggerOperation: "All" };
  assert.equal((await scripts.triggers.create(odd)).resource.body, odd.body);
  await scripts.userDefinedFunctions.create({ id: "f", body: "function (x) { return x; }" });
  assert.equal((await scripts.userDefinedFunctions.readAll().fetchAll()).resources.length, 1);
});

test("a procedure takes and returns every type", async () => {
  const container = await owner.container();
  const echo = await procedure(container, "echo", function (x) {
    getContext().getResponse().setBody(x);
  });
  for (const value of [1, 1.5, "text", "ü", true, null, [1, [2]], { a: { b: null } }]) {
    assert.deepEqual((await echo(value)).resource, value);
  }
  const silent = await procedure(container, "silent", "function () {}");
  assert.equal((await silent()).statusCode, 200);
});

test("a procedure writes all or nothing", async () => {
  const container = await owner.container();
  const make = await procedure(container, "make", function (items, fail) {
    const collection = getContext().getCollection();
    for (const item of items) collection.createDocument(collection.getSelfLink(), item);
    if (fail) throw new Error(fail);
    getContext().getResponse().setBody(items.length);
  });
  await fails(make([{ id: "1", pk: "a" }], "no luck"), 400, "Encountered exception while executing Javascript", "no luck");
  assert.equal((await container.item("1", "a").read()).statusCode, 404);
  const done = await make([{ id: "1", pk: "a" }, { id: "2", pk: "a" }]);
  assert.equal(done.resource, 2);
  assert.ok(done.requestCharge > 10);
  await fails(make([{ id: "3", pk: "a" }, { id: "1", pk: "a" }]), 409);
  assert.equal((await container.item("3", "a").read()).statusCode, 404);
});

test("an async procedure with the query API", async () => {
  const container = await owner.container();
  for (let n = 0; n < 5; n++) await write(container, { id: `${n}`, pk: "a", n });
  const run = await procedure(container, "sum", async function () {
    const values = await new Promise((resolve, reject) => {
      const result = __.chain().filter((item) => item.n % 2 === 0).pluck("n")
        .value((error, feed) => (error ? reject(error) : resolve(feed)));
      if (!result.isAccepted) reject(new Error("not accepted"));
    });
    __.response.setBody(values.reduce((sum, value) => sum + value, 0));
  });
  assert.equal((await run()).resource, 6);
});

test("the log comes in a header", async () => {
  const container = await owner.container();
  await container.scripts.storedProcedures.create({ id: "log", body: "function () { console.log('a b'); }" });
  const { headers } = await container.scripts.storedProcedure("log").execute("a", [], { enableScriptLogging: true });
  assert.equal(headers["x-ms-documentdb-script-log-results"], "a%20b");
});

test("triggers run when they are named", async () => {
  const container = await owner.container();
  const add = (id, triggerType, triggerOperation, body) =>
    container.scripts.triggers.create({ id, triggerType, triggerOperation, body });
  await add("upper", "Pre", "All", function () {
    const item = getContext().getRequest().getBody();
    item.name = item.name.toUpperCase();
    getContext().getRequest().setBody(item);
  });
  await add("check", "Post", "All", function () {
    if (getContext().getRequest().getBody().name !== "ANN") throw "request";
    if (getContext().getResponse().getBody().name !== "ANN") throw "response";
  });
  await add("deletes", "Post", "Delete", "function () {}");
  const both = { preTriggerInclude: "upper", postTriggerInclude: "check" };
  const { resource } = await container.items.create({ id: "1", pk: "a", name: "ann" }, both);
  assert.equal(resource.name, "ANN");
  await fails(container.items.create({ id: "2", pk: "a", name: "bo" }, both), 400, "request");
  assert.equal((await container.item("2", "a").read()).statusCode, 404);
  await fails(container.items.create({ id: "3", pk: "a" }, { postTriggerInclude: "deletes" }), 400);
  const upserted = await container.items.upsert({ id: "1", pk: "a", name: "ann" }, both);
  assert.equal(upserted.statusCode, 200);
  await container.item("1", "a").delete({ postTriggerInclude: "deletes" });
});

test("functions are called from queries", async () => {
  const container = await owner.container();
  await container.scripts.userDefinedFunctions.create({ id: "plus", body: "function (x) { return x + 1; }" });
  for (let n = 0; n < 3; n++) await write(container, { id: `${n}`, pk: `p${n}`, n });
  const { resources } = await container.items.query("SELECT VALUE udf.plus(c.n) FROM c ORDER BY c.n").fetchAll();
  assert.deepEqual(resources, [1, 2, 3]);
  await fails(container.items.query("SELECT udf.nope(c) FROM c").fetchAll(), 400, "nope");
});
