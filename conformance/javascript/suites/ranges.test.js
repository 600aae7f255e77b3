// Partition key ranges: the feed, and the service's own boundaries.

import assert from "node:assert/strict";
import { test } from "node:test";
import { byPk, useDatabase } from "../support.js";

const owner = useDatabase();

async function rangesOf(definition) {
  const container = await owner.container(definition);
  const { resource } = await container.read();
  const { resources } = await container.readPartitionKeyRanges().fetchAll();
  return { container: resource, ranges: resources };
}

function assertTiled(ranges) {
  assert.equal(ranges[0].minInclusive, "");
  assert.equal(ranges.at(-1).maxExclusive, "FF");
  for (let n = 1; n < ranges.length; n += 1) assert.equal(ranges[n].minInclusive, ranges[n - 1].maxExclusive);
}

test("ranges tile the space and are numbered from zero", async () => {
  const { container, ranges } = await rangesOf({});
  assertTiled(ranges);
  assert.deepEqual(ranges.map((range) => range.id), ranges.map((_, n) => String(n)));
  for (const range of ranges) {
    assert.equal(range.status, "online");
    assert.deepEqual(range.parents, []);
    assert.ok(Number.isInteger(range.ridPrefix));
    assert.ok(Number.isInteger(range._ts));
    assert.equal(range._self, `${container._self}pkranges/${range._rid}/`);
    assert.equal(Buffer.from(range._rid.replaceAll("-", "/"), "base64").length, 16);
  }
  const share = ranges.reduce((sum, range) => sum + range.throughputFraction, 0);
  assert.ok(Math.abs(share - 1) < 1e-9, `shares sum to ${share}`);
});

test("boundaries of the second hash are equal steps, rounded down first", async () => {
  for (const partitionKey of [byPk, { paths: ["/a", "/b"], kind: "MultiHash", version: 2 }]) {
    const { ranges } = await rangesOf({ partitionKey, throughput: 24000 });
    assert.ok(ranges.length >= 4);
    const step = ((1n << 126n) - 1n) / BigInt(ranges.length);
    assertTiled(ranges);
    for (let n = 1; n < ranges.length; n += 1) {
      const expected = (step * BigInt(n)).toString(16).toUpperCase().padStart(32, "0");
      assert.equal(ranges[n].minInclusive, expected);
    }
  }
});

test("boundaries of the first hash are encoded numbers", async () => {
  const { ranges } = await rangesOf({ partitionKey: "/pk", throughput: 24000 });
  assertTiled(ranges);
  const known = {
    4: ["05C1CFFFFFFFF8", "05C1DFFFFFFFF8", "05C1E7FFFFFFFA"],
    5: ["05C1C9CD673398", "05C1D9CD673398", "05C1E399CD6732", "05C1E9CD673398"],
  };
  const inner = ranges.slice(1).map((range) => range.minInclusive);
  assert.deepEqual(inner, known[ranges.length] ?? inner);
  assert.ok(ranges.length >= 4);
});

test("manual throughput gives a range per 6000, autoscale one per 10000", async () => {
  assert.ok((await rangesOf({ throughput: 18000 })).ranges.length >= 3);
  assert.ok((await rangesOf({ maxThroughput: 20000 })).ranges.length >= 2);
});
