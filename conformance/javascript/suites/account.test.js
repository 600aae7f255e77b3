// The account document, and keys: right, wrong, missing, read-only.

import assert from "node:assert/strict";
import { test } from "node:test";
import { byPk, client, connect, endpoint, everything, fails, ids, key, readOnlyKey, unique, useDatabase, write } from "../support.js";

const owner = useDatabase();
const wrongKey = Buffer.from("not the key of this account, but of the right length for one....").toString("base64");

test("the account names one region at the address the client used", async () => {
  const { resource: account } = await client.getDatabaseAccount();
  assert.equal(account.consistencyPolicy, "Session");
  assert.equal(account.enableMultipleWritableLocations, false);
  // With the id "localhost" the SDK drops the regions and stays where it is: both ways must lead to the endpoint.
  const href = new URL(endpoint).href;
  assert.ok(account.writableLocations.every((place) => new URL(place.databaseAccountEndpoint).href === href));
  assert.equal(new URL(await client.getWriteEndpoint()).href, href);
  assert.equal(new URL(await client.getReadEndpoint()).href, href);
});

test("the account endpoint follows the host header", async () => {
  const alias = new URL(endpoint);
  alias.hostname = alias.hostname === "localhost" ? "127.0.0.1" : "localhost";
  const other = connect({ endpoint: alias.href });
  assert.equal((await other.database(owner.database.id).read()).statusCode, 200);
  assert.equal(new URL(await other.getWriteEndpoint()).href, alias.href);
  other.dispose();
});

test("a client works without endpoint discovery", async () => {
  const other = connect({ connectionPolicy: { enableEndpointDiscovery: false } });
  const { resource } = await other.database(owner.database.id).read();
  assert.equal(resource.id, owner.database.id);
  other.dispose();
});

test("a client opens from a connection string", async () => {
  const other = connect({ connectionString: `AccountEndpoint=${endpoint};AccountKey=${key};` });
  assert.equal((await other.getDatabaseAccount()).statusCode ?? 200, 200);
  other.dispose();
});

test("a wrong key is refused", async () => {
  const stranger = connect({ key: wrongKey });
  await fails(stranger.getDatabaseAccount(), 401, "The wrong key is being used");
  await fails(stranger.databases.create({ id: unique("refused") }), 401);
  await fails(stranger.database(owner.database.id).delete(), 401);
  assert.equal((await owner.database.read()).statusCode, 200);
  stranger.dispose();
});

test("a missing authorization is refused", async () => {
  const stranger = connect({ key: undefined });
  // The client asks for the account first.
  await fails(stranger.databases.readAll().fetchAll(), 401, "Required Header authorization is missing");
  stranger.dispose();
});

test("the read-only key reads and does not write", { skip: readOnlyKey ? false : "ORRERY_READ_ONLY_KEY is not set" }, async () => {
  const container = await owner.container();
  await write(container, { id: "1", pk: "a" });
  const reader = connect({ key: readOnlyKey });
  const database = reader.database(owner.database.id);
  const seen = database.container(container.id);
  assert.equal((await seen.read()).resource.id, container.id);
  assert.equal((await seen.item("1", "a").read()).resource.id, "1");
  assert.deepEqual(ids(await everything(seen)), ["1"]);

  await fails(reader.databases.create({ id: unique("refused") }), 403);
  await fails(database.containers.create({ id: unique("refused"), partitionKey: byPk }), 403);
  await fails(seen.items.create({ id: "2", pk: "a" }), 403);
  await fails(seen.items.upsert({ id: "1", pk: "a", changed: true }), 403);
  await fails(seen.item("1", "a").replace({ id: "1", pk: "a", changed: true }), 403);
  await fails(seen.item("1", "a").patch([{ op: "set", path: "/changed", value: true }]), 403);
  await fails(seen.item("1", "a").delete(), 403);
  await fails(seen.items.batch([{ operationType: "Create", resourceBody: { id: "3", pk: "a" } }], "a"), 403);
  await fails(seen.deleteAllItemsForPartitionKey("a"), 403);
  await fails(seen.delete(), 403);
  assert.deepEqual(ids(await everything(container)), ["1"]);
  assert.equal((await container.item("1", "a").read()).resource.changed, undefined);
  reader.dispose();
});
