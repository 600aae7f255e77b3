// Items: create, read, replace, upsert, delete, preconditions.

import assert from "node:assert/strict";
import { test } from "node:test";
import { everything, fails, ids, sameContent, useDatabase, write } from "../support.js";

const owner = useDatabase();
const when = (type, condition) => ({ accessCondition: { type, condition } });
const unmet = "one of the specified precondition is not met";

test("a created item comes back with system properties", async () => {
  const container = await owner.container();
  const sent = { id: "1", pk: "a", nested: { list: [1, null, { deep: true }] } };
  const { resource, statusCode, headers, etag } = await container.items.create({ ...sent });
  const { resource: home } = await container.read();
  assert.equal(statusCode, 201);
  sameContent(resource, sent);
  assert.equal(resource._self, `${home._self}docs/${resource._rid}/`);
  assert.equal(resource._attachments, "attachments/");
  assert.equal(etag, resource._etag);
  assert.ok(Number(headers["x-ms-request-charge"]) > 0);
  assert.match(headers["x-ms-session-token"], /^\d+:.*#/);
  assert.equal(headers["x-ms-content-path"], home._rid);
  assert.equal(headers["x-ms-alt-content-path"], `dbs/${owner.database.id}/colls/${container.id}`);
  assert.deepEqual((await container.item("1", "a").read()).resource, resource);
});

test("property order is kept", async () => {
  const container = await owner.container();
  const sent = { zebra: 1, id: "1", "with space": 2, pk: "a", _mine: 3, ünï: 4, $d: 5, "": 6 };
  await container.items.create({ ...sent });
  const { resource } = await container.item("1", "a").read();
  assert.deepEqual(Object.keys(resource).slice(0, 8), Object.keys(sent));
});

test("a second item of an id is a conflict, in one logical partition only", async () => {
  const container = await owner.container();
  await write(container, { id: "1", pk: "a", n: 1 });
  await fails(container.items.create({ id: "1", pk: "a", n: 2 }), 409, "already exists");
  await write(container, { id: "1", pk: "b", n: 3 });
  assert.equal((await container.item("1", "a").read()).resource.n, 1);
  assert.equal((await container.item("1", "b").read()).resource.n, 3);
});

test("a missing item is not found", async () => {
  const container = await owner.container();
  await write(container, { id: "1", pk: "a" });
  const { statusCode, resource } = await container.item("2", "a").read();
  assert.equal(statusCode, 404);
  assert.equal(resource, undefined);
  assert.equal((await container.item("1", "b").read()).statusCode, 404);
  await fails(container.item("2", "a").replace({ id: "2", pk: "a" }), 404, "Entity with the specified id does not exist");
  await fails(container.item("2", "a").delete(), 404);
  await fails(container.item("2", "a").patch([{ op: "set", path: "/n", value: 1 }]), 404);
});

test("replace swaps the whole item and keeps its rid", async () => {
  const container = await owner.container();
  const [made] = await write(container, { id: "1", pk: "a", old: true });
  const { resource, statusCode } = await container.item("1", "a").replace({ id: "1", pk: "a", fresh: true });
  assert.equal(statusCode, 200);
  assert.equal(resource.old, undefined);
  assert.equal(resource._rid, made._rid);
  assert.notEqual(resource._etag, made._etag);
});

test("replace may rename within the logical partition", async () => {
  const container = await owner.container();
  const [made] = await write(container, { id: "1", pk: "a" }, { id: "taken", pk: "a" });
  const { resource } = await container.item("1", "a").replace({ id: "one", pk: "a" });
  assert.equal(resource._rid, made._rid);
  await fails(container.item("one", "a").replace({ id: "taken", pk: "a" }), 409);
  assert.deepEqual(ids(await everything(container)), ["one", "taken"]);
});

test("upsert creates, then replaces", async () => {
  const container = await owner.container();
  const first = await container.items.upsert({ id: "1", pk: "a", n: 1 });
  const second = await container.items.upsert({ id: "1", pk: "a", m: 1 });
  assert.deepEqual([first.statusCode, second.statusCode], [201, 200]);
  assert.equal(second.resource.n, undefined);
  assert.equal(second.resource._rid, first.resource._rid);
  await container.items.upsert({ id: "1", pk: "b" });
  assert.equal((await everything(container)).length, 2);
});

test("a deleted item is gone and its id is free", async () => {
  const container = await owner.container();
  const [made] = await write(container, { id: "1", pk: "a" });
  assert.equal((await container.item("1", "a").delete()).statusCode, 204);
  assert.equal((await container.item("1", "a").read()).statusCode, 404);
  const [again] = await write(container, { id: "1", pk: "a" });
  assert.notEqual(again._rid, made._rid);
});

test("the SDK makes up an id, the server does not", async () => {
  const container = await owner.container();
  const { resource } = await container.items.create({ pk: "a" });
  assert.equal((await container.item(resource.id, "a").read()).statusCode, 200);
  await fails(
    container.items.create({ pk: "a" }, { disableAutomaticIdGeneration: true }),
    400,
    "The input content is invalid because the required properties - 'id; ' - are missing",
  );
});

test("writes honour if-match", async () => {
  const container = await owner.container();
  const [old] = await write(container, { id: "1", pk: "a", n: 1 });
  const item = container.item("1", "a");
  const { resource: current } = await item.replace({ id: "1", pk: "a", n: 2 }, when("IfMatch", old._etag));
  await fails(item.replace({ id: "1", pk: "a", n: 3 }, when("IfMatch", old._etag)), 412, unmet);
  await fails(container.items.upsert({ id: "1", pk: "a", n: 3 }, when("IfMatch", old._etag)), 412, unmet);
  await fails(item.patch([{ op: "incr", path: "/n", value: 1 }], when("IfMatch", old._etag)), 412, unmet);
  await fails(item.delete(when("IfMatch", old._etag)), 412, unmet);
  assert.equal((await item.read()).resource.n, 2);
  await item.replace({ id: "1", pk: "a", n: 4 }, when("IfMatch", "*"));
  await fails(item.delete(when("IfMatch", current._etag)), 412, unmet);
  await item.delete(when("IfMatch", (await item.read()).etag));
});

test("upsert of a missing item ignores if-match", async () => {
  const container = await owner.container();
  const made = await container.items.upsert({ id: "1", pk: "a" }, when("IfMatch", '"whatever"'));
  assert.equal(made.statusCode, 201);
});

test("if-none-match saves reading what is known and replacing what exists", async () => {
  const container = await owner.container();
  const [made] = await write(container, { id: "1", pk: "a", n: 1 });
  const item = container.item("1", "a");
  const known = await item.read(when("IfNoneMatch", made._etag));
  assert.equal(known.statusCode, 304);
  assert.equal(known.resource ?? "", "");
  await item.replace({ id: "1", pk: "a", n: 2 });
  assert.equal((await item.read(when("IfNoneMatch", made._etag))).resource.n, 2);
  await fails(container.items.upsert({ id: "1", pk: "a", n: 3 }, when("IfNoneMatch", "*")), 412);
  await fails(container.items.create({ id: "1", pk: "a", n: 3 }, when("IfNoneMatch", "*")), 409);
  assert.equal((await container.items.upsert({ id: "2", pk: "a" }, when("IfNoneMatch", "*"))).statusCode, 201);
});

test("concurrent creates of an id give one item", async () => {
  const container = await owner.container();
  const answers = await Promise.allSettled(
    Array.from({ length: 12 }, (_, n) => container.items.create({ id: "1", pk: "a", n })),
  );
  assert.equal(answers.filter((answer) => answer.status === "fulfilled").length, 1);
  for (const answer of answers) if (answer.status === "rejected") assert.equal(answer.reason.code, 409);
});

test("concurrent writers lose nothing", async () => {
  const container = await owner.container();
  await Promise.all(Array.from({ length: 100 }, (_, n) => container.items.create({ id: `${n}`, pk: n % 9 })));
  assert.equal((await everything(container)).length, 100);
});

test("concurrent increments by etag lose nothing", async () => {
  const container = await owner.container();
  await write(container, { id: "1", pk: "a", n: 0 });
  const item = () => container.item("1", "a");
  async function increment() {
    for (;;) {
      const { resource } = await item().read();
      try {
        return await item().replace({ ...resource, n: resource.n + 1 }, when("IfMatch", resource._etag));
      } catch (error) {
        assert.equal(error.code, 412, error.message);
      }
    }
  }
  await Promise.all(Array.from({ length: 8 }, increment));
  assert.equal((await item().read()).resource.n, 8);
});
