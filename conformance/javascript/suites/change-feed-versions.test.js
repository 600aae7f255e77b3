// Change feed, all versions and deletes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ChangeFeedMode, ChangeFeedStartFrom } from "@azure/cosmos";
import { changes, fails, sleep, useDatabase, write } from "../support.js";

const owner = useDatabase();
const retained = () => owner.container({ changeFeedPolicy: { retentionDuration: 10 }, defaultTtl: -1 });
const mode = { changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes };
const now = (scope) => ({ ...mode, changeFeedStartFrom: ChangeFeedStartFrom.Now(scope) });
const after = ({ continuation }) => ({ ...mode, changeFeedStartFrom: ChangeFeedStartFrom.Continuation(continuation) });
const kinds = (entries) => entries.map((entry) => entry.metadata.operationType);

test("every version and the delete appear", async () => {
  const container = await retained();
  const start = await changes(container, now("a"));
  assert.deepEqual(start.items, []);
  await write(container, { id: "1", pk: "a", n: 1 });
  await container.items.upsert({ id: "1", pk: "a", n: 2 });
  await container.item("1", "a").patch([{ op: "incr", path: "/n", value: 1 }]);
  await container.item("1", "a").delete();
  await write(container, { id: "other", pk: "b" });

  const { items } = await changes(container, after(start));
  assert.deepEqual(kinds(items), ["create", "replace", "replace", "delete"]);
  assert.deepEqual(items.slice(0, 3).map((entry) => entry.current.n), [1, 2, 3]);
  assert.equal(items[3].previous.n, 3);
  const lsns = items.map((entry) => entry.metadata.lsn);
  assert.deepEqual(items.slice(1).map((entry) => entry.metadata.previousImageLSN), lsns.slice(0, 3));
  for (const entry of items) assert.ok(entry.metadata.crts > 0);
});

test("the feed of the whole container covers all ranges", async () => {
  const container = await retained();
  const start = await changes(container, now());
  for (let n = 0; n < 15; n += 1) await write(container, { id: `${n}`, pk: `key${n}` });
  for (let n = 0; n < 15; n += 1) await container.item(`${n}`, `key${n}`).delete();
  const { items } = await changes(container, after(start));
  assert.equal(kinds(items).filter((kind) => kind === "create").length, 15);
  assert.equal(kinds(items).filter((kind) => kind === "delete").length, 15);
});

test("expiry appears as a delete", async () => {
  const container = await retained();
  const start = await changes(container, now());
  await write(container, { id: "1", pk: "a", ttl: 1 });
  let items = [];
  for (let wait = 0; wait < 40 && items.length < 2; wait += 1) {
    await sleep(250);
    ({ items } = await changes(container, after(start)));
  }
  assert.deepEqual(kinds(items), ["create", "delete"]);
  assert.equal(items[1].metadata.timeToLiveExpired, true);
});

test("a container must retain versions", async () => {
  const container = await owner.container();
  await fails(changes(container, now()), 400, "All Versions and Deletes", "must be enabled");
});

test("the feed cannot start at the beginning", async () => {
  const container = await retained();
  const fromBeginning = { ...mode, changeFeedStartFrom: ChangeFeedStartFrom.Beginning() };
  await fails(changes(container, fromBeginning), 400);
});
