// Databases: create, read, list, delete, names.

import assert from "node:assert/strict";
import { test } from "node:test";
import { byPk, client, fails, ids, unique, useDatabase, write } from "../support.js";

const owner = useDatabase();

test("a created database has the system properties", async () => {
  const { resource, headers, statusCode } = await owner.database.read();
  assert.equal(statusCode, 200);
  assert.equal(resource.id, owner.database.id);
  assert.equal(resource._rid.length, 8);
  assert.equal(resource._self, `dbs/${resource._rid}/`);
  assert.equal(resource._colls, "colls/");
  assert.equal(resource._users, "users/");
  assert.equal(headers.etag, resource._etag);
  assert.ok(Number(headers["x-ms-request-charge"]) > 0);
  assert.ok(headers["x-ms-activity-id"]);
});

test("a second database of a name is a conflict", async () => {
  await fails(client.databases.create({ id: owner.database.id }), 409, "already exists");
});

test("a missing database is not found", async () => {
  const missing = client.database(unique("missing"));
  await fails(missing.read(), 404, "Resource Not Found");
  await fails(missing.delete(), 404);
  await fails(missing.containers.create({ id: "things", partitionKey: byPk }), 404);
});

test("databases are listed in pages", async () => {
  const names = [unique("listed"), unique("listed")];
  for (const id of names) await client.databases.create({ id });
  const feed = client.databases.readAll({ maxItemCount: 1 });
  const found = [];
  while (feed.hasMoreResults()) {
    const { resources } = await feed.fetchNext();
    assert.ok((resources ?? []).length <= 1);
    found.push(...(resources ?? []));
  }
  for (const id of names) assert.ok(found.some((database) => database.id === id), id);
  for (const id of names) await client.database(id).delete();
});

test("a deleted database is gone with its containers", async () => {
  const id = unique("database");
  const { database, resource: before } = await client.databases.create({ id });
  const { container } = await database.containers.create({ id: "things", partitionKey: byPk });
  await write(container, { id: "1", pk: "a" });
  assert.equal((await database.delete()).statusCode, 204);
  await fails(database.read(), 404);
  const { database: again, resource: after } = await client.databases.create({ id });
  assert.notEqual(after._rid, before._rid);
  assert.deepEqual((await again.containers.readAll().fetchAll()).resources, []);
  await again.delete();
});

test("delete honours if-match", async () => {
  const { database, resource } = await client.databases.create({ id: unique("database") });
  const unless = (condition) => ({ accessCondition: { type: "IfMatch", condition } });
  await fails(database.delete(unless('"another"')), 412, "One of the specified pre-condition is not met");
  assert.equal((await database.delete(unless(resource._etag))).statusCode, 204);
});

test("concurrent create-if-not-exists creates one database", async () => {
  const id = unique("database");
  const answers = await Promise.allSettled(Array.from({ length: 12 }, () => client.databases.createIfNotExists({ id })));
  const failures = answers.filter((answer) => answer.status === "rejected");
  assert.ok(failures.length < answers.length);
  for (const { reason } of failures) assert.equal(reason.code, 409, reason.message);
  const rids = new Set(answers.filter((a) => a.status === "fulfilled").map((a) => a.value.resource._rid));
  assert.equal(rids.size, 1);
  const { resources } = await client.databases.readAll().fetchAll();
  assert.equal(ids(resources).filter((name) => name === id).length, 1);
  await client.database(id).delete();
});

for (const odd of ["größe 東京 🚀", "a.b-c_d~e!@$^&*()[]{}|;:,<>'`", "UPPER lower"]) {
  test(`the odd name "${odd}" is kept`, async () => {
    const id = `${unique("odd")} ${odd}`;
    const { database } = await client.databases.create({ id });
    assert.equal((await database.read()).resource.id, id);
    const { container } = await database.containers.create({ id, partitionKey: byPk });
    await write(container, { id: "1", pk: "a" });
    assert.equal((await container.item("1", "a").read()).resource.id, "1");
    await database.delete();
  });
}

test("the longest name is 255 characters", async () => {
  const id = unique("long").padEnd(255, "x");
  const { database } = await client.databases.create({ id });
  await database.delete();
  await fails(
    client.databases.create({ id: `${id}x` }),
    400,
    "Ensure to provide a unique non-empty string less than '255' characters.",
  );
});
