// Session tokens and consistency levels.

import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, fails, useDatabase, write } from "../support.js";

const owner = useDatabase();

function parts(token) {
  const [range, vector] = token.split(":");
  const [version, position] = vector.split("#");
  return { range, version, position: Number(position) };
}

test("the token of a range grows with every write, once per batch", async () => {
  const container = await owner.container();
  const first = parts((await container.items.create({ id: "1", pk: "a" })).headers["x-ms-session-token"]);
  const second = parts((await container.items.create({ id: "2", pk: "a" })).headers["x-ms-session-token"]);
  assert.equal(second.range, first.range);
  assert.ok(second.position > first.position);
  const operations = ["3", "4", "5"].map((id) => ({ operationType: "Create", resourceBody: { id, pk: "a" } }));
  const third = parts((await container.items.batch(operations, "a")).headers["x-ms-session-token"]);
  assert.equal(third.position, second.position + 1);
});

test("a genuine token is served by another client", async () => {
  const container = await owner.container();
  const { headers } = await container.items.create({ id: "1", pk: "a" });
  const other = connect();
  const seen = other.database(owner.database.id).container(container.id);
  const { resource } = await seen.item("1", "a").read({ sessionToken: headers["x-ms-session-token"] });
  assert.equal(resource.id, "1");
  other.dispose();
});

test("a token from the future is not served", async () => {
  const container = await owner.container();
  const { headers } = await container.items.create({ id: "1", pk: "a" });
  const { range, version, position } = parts(headers["x-ms-session-token"]);
  const sessionToken = `${range}:${version}#${position + 1000}`;
  const answer = await container.item("1", "a").read({ sessionToken });
  // The SDK drops the token and reads again, so the refusal shows in its diagnostics only.
  const attempts = answer.diagnostics.clientSideRequestStatistics.gatewayStatistics;
  assert.ok(attempts.some(({ statusCode, subStatusCode }) => statusCode === 404 && subStatusCode === 1002));
  assert.equal(answer.statusCode, 200);
});

test("a malformed token is refused", async () => {
  const container = await owner.container();
  await write(container, { id: "1", pk: "a" });
  await fails(container.item("1", "a").read({ sessionToken: "nonsense" }), 400);
});

test("levels up to the account's are served, stronger ones refused", async () => {
  const container = await owner.container();
  await write(container, { id: "1", pk: "a" });
  for (const consistencyLevel of ["Session", "ConsistentPrefix", "Eventual"]) {
    const answer = await container.item("1", "a").read({ consistencyLevel });
    assert.equal(answer.statusCode, 200, consistencyLevel);
  }
  for (const consistencyLevel of ["Strong", "BoundedStaleness"]) {
    await fails(container.item("1", "a").read({ consistencyLevel }), 400);
  }
});

test("a client of another level works", async () => {
  const container = await owner.container();
  await write(container, { id: "1", pk: "a" });
  const eventual = connect({ consistencyLevel: "Eventual" });
  const seen = eventual.database(owner.database.id).container(container.id);
  assert.equal((await seen.item("1", "a").read()).resource.id, "1");
  eventual.dispose();
});
