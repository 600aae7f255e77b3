// Time to live, and unique keys, which must come free with it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { everything, fails, ids, sleep, useDatabase, write } from "../support.js";

const owner = useDatabase();

test("expired items vanish", async () => {
  const [timed, enabled, disabled] = await Promise.all([
    owner.container({ defaultTtl: 2, uniqueKeyPolicy: { uniqueKeys: [{ paths: ["/email"] }] } }),
    owner.container({ defaultTtl: -1 }),
    owner.container(),
  ]);
  await write(timed, { id: "default", pk: "a", email: "x" }, { id: "never", pk: "a", ttl: -1 });
  await write(enabled, { id: "own", pk: "a", ttl: 1 }, { id: "none", pk: "a" });
  await write(disabled, { id: "ignored", pk: "a", ttl: 1 });
  await sleep(3100);
  assert.deepEqual(ids(await everything(timed)), ["never"]);
  assert.deepEqual(ids(await everything(enabled)), ["none"]);
  assert.deepEqual(ids(await everything(disabled)), ["ignored"]);
  await fails(timed.item("default", "a").read(), 404);
  await fails(timed.item("default", "a").delete(), 404);
  await write(timed, { id: "successor", pk: "a", email: "x" });
});

test("an invalid time is refused", async () => {
  const container = await owner.container({ defaultTtl: -1 });
  for (const ttl of [0, -2, 1.5, "10", true, 2 ** 31]) {
    await fails(container.items.create({ id: "1", pk: "a", ttl }), 400);
  }
  assert.deepEqual(await everything(container), []);
});

test("unique keys hold within a logical partition", async () => {
  const container = await owner.container({ uniqueKeyPolicy: { uniqueKeys: [{ paths: ["/email"] }, { paths: ["/a", "/b"] }] } });
  await write(container, { id: "1", pk: "a", email: "x", a: 1, b: 1 }, { id: "1", pk: "b", email: "x", a: 1, b: 1 });
  await fails(container.items.create({ id: "2", pk: "a", email: "x", a: 2, b: 2 }), 409);
  await fails(container.items.create({ id: "2", pk: "a", email: "y", a: 1, b: 1 }), 409);
  await write(container, { id: "2", pk: "a", email: "y", a: 1, b: 2 });
  await fails(container.item("2", "a").replace({ id: "2", pk: "a", email: "x", a: 1, b: 2 }), 409);
  await fails(container.item("2", "a").patch([{ op: "set", path: "/b", value: 1 }]), 409);
  await container.item("1", "a").delete();
  await container.item("2", "a").replace({ id: "2", pk: "a", email: "x", a: 1, b: 1 });
  assert.equal((await everything(container)).length, 2);
});

test("missing values count as one value", async () => {
  const container = await owner.container({ uniqueKeyPolicy: { uniqueKeys: [{ paths: ["/email"] }] } });
  await write(container, { id: "1", pk: "a" });
  await fails(container.items.create({ id: "2", pk: "a" }), 409);
  await write(container, { id: "2", pk: "b" });
});
