// Resource tokens: what a permission lets its bearer do, and nothing else.

import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, everything, fails, ids, sleep, unique, useDatabase, write } from "../support.js";

const owner = useDatabase();

/** A container with two items, and a way to see it through the token of a new permission. */
async function goods() {
  const container = await owner.container();
  await write(container, { id: "1", pk: "a" }, { id: "2", pk: "b" });
  const { user } = await owner.database.users.create({ id: unique("user") });
  const link = `dbs/${owner.database.id}/colls/${container.id}`;
  async function tokenFor(permission, options) {
    const body = { id: unique("permission"), resource: link, ...permission };
    return (await user.permissions.create(body, options)).resource._token;
  }
  async function seenWith(permission, options) {
    const bearer = connect({ resourceTokens: { [permission.resource ?? link]: await tokenFor(permission, options) } });
    return bearer.database(owner.database.id).container(container.id);
  }
  return { container, link, seenWith, tokenFor };
}

test("a read token reads its container", async () => {
  const { seenWith } = await goods();
  const seen = await seenWith({ permissionMode: "Read" });
  assert.equal((await seen.read()).statusCode, 200);
  assert.equal((await seen.item("1", "a").read()).resource.id, "1");
  assert.deepEqual(ids(await everything(seen)), ["1", "2"]);
});

test("a read token does not write", async () => {
  const { container, seenWith } = await goods();
  const seen = await seenWith({ permissionMode: "Read" });
  await fails(seen.items.create({ id: "3", pk: "a" }), 403);
  await fails(seen.items.upsert({ id: "1", pk: "a", changed: true }), 403);
  await fails(seen.item("1", "a").replace({ id: "1", pk: "a", changed: true }), 403);
  await fails(seen.item("1", "a").patch([{ op: "set", path: "/changed", value: true }]), 403);
  await fails(seen.item("1", "a").delete(), 403);
  await fails(seen.items.batch([{ operationType: "Delete", id: "1" }], "a"), 403);
  await fails(seen.delete(), 403);
  assert.deepEqual(ids(await everything(container)), ["1", "2"]);
  assert.equal((await container.item("1", "a").read()).resource.changed, undefined);
});

test("an all token writes items", async () => {
  const { container, seenWith } = await goods();
  const seen = await seenWith({ permissionMode: "All" });
  await write(seen, { id: "3", pk: "a" });
  await seen.item("1", "a").delete();
  assert.deepEqual(ids(await everything(container)), ["2", "3"]);
});

test("a token does not open other resources", async () => {
  const { tokenFor } = await goods();
  const token = await tokenFor({ permissionMode: "All" });
  const other = await owner.container();
  const home = `dbs/${owner.database.id}`;
  // The SDK picks tokens by link, so the token is given for links that it does not cover.
  const bearer = connect({ resourceTokens: { [home]: token, [`${home}/colls/${other.id}`]: token } });
  const database = bearer.database(owner.database.id);
  await fails(database.container(other.id).read(), 403);
  await fails(database.container(other.id).item("1", "a").read(), 403);
  await fails(database.read(), 403);
  await fails(database.delete(), 403);
});

test("a token of a partition key is limited to it", async () => {
  const { container, seenWith } = await goods();
  const seen = await seenWith({ permissionMode: "All", resourcePartitionKey: ["a"] });
  assert.equal((await seen.item("1", "a").read()).resource.id, "1");
  await write(seen, { id: "3", pk: "a" });
  await fails(seen.item("2", "b").read(), 403);
  await fails(seen.items.create({ id: "4", pk: "b" }), 403);
  await fails(seen.items.batch([{ operationType: "Create", resourceBody: { id: "4", pk: "b" } }], "b"), 403);
  await fails(seen.deleteAllItemsForPartitionKey("b"), 403);
  assert.deepEqual(ids(await everything(container)), ["1", "2", "3"]);
});

test("a token of an item reads and deletes that item", async () => {
  const { container, link, seenWith } = await goods();
  const seen = await seenWith({ permissionMode: "All", resource: `${link}/docs/1`, resourcePartitionKey: ["a"] });
  assert.equal((await seen.item("1", "a").read()).resource.id, "1");
  assert.equal((await seen.item("1", "a").delete()).statusCode, 204);
  assert.deepEqual(ids(await everything(container)), ["2"]);
});

test("a made-up token is refused", async () => {
  const { container, link } = await goods();
  const token = "type=resource&ver=1.0&sig=bm90IGEgcmVhbCB0b2tlbg==;bm90aGluZyBhdCBhbGw=;";
  const stranger = connect({ resourceTokens: { [link]: token } });
  await fails(stranger.database(owner.database.id).container(container.id).read(), 401);
});

test("a token expires", async () => {
  const { seenWith } = await goods();
  const seen = await seenWith({ permissionMode: "Read" }, { resourceTokenExpirySeconds: 10 });
  assert.equal((await seen.item("1", "a").read()).resource.id, "1");
  await sleep(11_500);
  await fails(seen.item("1", "a").read(), 403);
});
