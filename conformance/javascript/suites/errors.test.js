// Errors: code, message, activity id, charge; features that are not there are refused, not ignored.

import assert from "node:assert/strict";
import { test } from "node:test";
import { client, connect, fails, useDatabase, write } from "../support.js";

const owner = useDatabase();

test("an error has code, message, activity id and charge", async () => {
  const container = await owner.container();
  await write(container, { id: "1", pk: "a" });
  const error = await fails(container.items.create({ id: "1", pk: "a" }), 409);
  assert.equal(error.body.code, "Conflict");
  assert.ok(error.body.message);
  assert.ok(error.headers["x-ms-activity-id"]);
  assert.ok(Number(error.headers["x-ms-request-charge"] ?? 0) >= 0);
  assert.match(error.headers["content-type"], /^application\/json/);
  assert.equal(Number(error.headers["content-length"]) > 0, true);
});

test("error codes carry their names", async () => {
  const container = await owner.container();
  await write(container, { id: "1", pk: "a" });
  const item = container.item("1", "a");
  const named = async (call, status) => (await fails(call, status)).body.code;
  assert.equal(await named(container.item("2", "a").delete(), 404), "NotFound");
  assert.equal(await named(item.patch([]), 400), "BadRequest");
  const old = { accessCondition: { type: "IfMatch", condition: '"old"' } };
  assert.equal(await named(item.delete(old), 412), "PreconditionFailed");
  assert.equal(await named(container.items.create({ id: "3", pk: "a", text: "x".repeat(2 ** 21) }), 413), "RequestEntityTooLarge");
  const stranger = connect({ key: Buffer.from("another key").toString("base64") });
  assert.equal(await named(stranger.database(owner.database.id).read(), 401), "Unauthorized");
});

test("an owner that is missing has its own sub-status", async () => {
  const missing = owner.database.container("missing");
  const error = await fails(missing.items.create({ id: "1", pk: "a" }), 404);
  assert.ok(error.substatus === undefined || error.substatus === 0 || error.substatus === 1003, `${error.substatus}`);
});

test("a trigger that does not exist stops the write", async () => {
  const container = await owner.container();
  await fails(container.items.create({ id: "1", pk: "a" }, { preTriggerInclude: "missing" }), 400);
  await fails(container.items.create({ id: "1", pk: "a" }, { postTriggerInclude: ["missing"] }), 400);
  assert.equal((await container.item("1", "a").read()).statusCode, 404);
});

test("a bad page size is refused", async () => {
  await fails(client.databases.readAll({ maxItemCount: "abc" }).fetchNext(), 400, "The input PageSize abc is invalid");
});

test("a bad continuation is refused", async () => {
  await fails(client.databases.readAll({ continuationToken: "nonsense" }).fetchNext(), 400, "Invalid Continuation Token");
});
