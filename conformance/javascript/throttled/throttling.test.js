// A burst over the provisioned throughput, against a server that enforces it; the SDK retries as it does by default.

import assert from "node:assert/strict";
import { test } from "node:test";
import { useDatabase } from "../support.js";

const owner = useDatabase();
const throughput = 400;
const writes = 2000;
const writers = 16;

test("a burst completes at the provisioned rate", async () => {
  const container = await owner.container({ throughput });
  let next = 0;
  let charges = 0;
  let retries = 0;
  const write = async () => {
    while (next < writes) {
      const n = next++;
      const answer = await container.items.create({ id: `${n}`, pk: `k${n % 97}`, note: "x".repeat(200) });
      charges += answer.requestCharge;
      retries += answer.headers["x-ms-throttle-retry-count"] ?? 0;
    }
  };
  const begin = performance.now();
  await Promise.all(Array.from({ length: writers }, write));
  const seconds = (performance.now() - begin) / 1000;
  const rate = charges / seconds;
  console.log(`${charges.toFixed(0)} RU in ${seconds.toFixed(1)} s: ${rate.toFixed(0)} RU/s, ${retries} retries`);
  assert.ok(retries > 0, "nothing was refused: is --enforce-throughput on?");
  assert.ok(rate >= 0.9 * throughput && rate <= 1.1 * throughput, `${rate} RU/s`);
  const { resources } = await container.items.query("SELECT VALUE COUNT(1) FROM c").fetchAll();
  assert.deepEqual(resources, [writes]);
});
