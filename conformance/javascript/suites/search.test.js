// Vector, full-text and hybrid search through the SDK, against rankings worked out here.

import assert from "node:assert/strict";
import { test } from "node:test";
import { useDatabase, write } from "../support.js";

const owner = useDatabase();
const target = [0.5, -0.25, 1.0, 0.125];

/** Item `n`: a vector, and a text of constant length that says "comet" once more than the item before. */
function make(n) {
  const v = target.map((_, axis) => Math.sin(n * 0.7 + axis) * (1 + (n % 3)));
  const said = (n % 12) + 1;
  const words = Array.from({ length: 24 }, (_, k) => (k < said ? "comet" : `filler${k - said}`));
  if (n % 2) words[23] = "harbour";
  return { id: `${n}`.padStart(2, "0"), pk: `key${n % 5}`, n, v, w: v, text: words.join(" "), said };
}

const items = Array.from({ length: 24 }, (_, n) => make(n));
const properties = {
  indexingPolicy: {
    includedPaths: [{ path: "/*" }],
    excludedPaths: [{ path: '/"_etag"/?' }],
    vectorIndexes: [{ path: "/v", type: "flat" }, { path: "/w", type: "quantizedFlat" }],
    fullTextIndexes: [{ path: "/text" }],
  },
  vectorEmbeddingPolicy: {
    vectorEmbeddings: [
      { path: "/v", dataType: "float32", dimensions: 4, distanceFunction: "euclidean" },
      { path: "/w", dataType: "float32", dimensions: 4, distanceFunction: "cosine" },
    ],
  },
  fullTextPolicy: { defaultLanguage: "en-US", fullTextPaths: [{ path: "/text", language: "en-US" }] },
};

let filled;
function library() {
  filled ??= (async () => {
    const container = await owner.container(properties);
    await write(container, ...items);
    return container;
  })();
  return filled;
}

const ask = async (query, options) => (await (await library()).items.query(query, options).fetchAll()).resources;
const names = (rows) => rows.map((row) => row.id);
const by = (key) => (left, right) => key(left) - key(right);
const dot = (a, b) => a.reduce((sum, value, axis) => sum + value * b[axis], 0);
const euclidean = (item) => Math.hypot(...item.v.map((value, axis) => value - target[axis]));
const cosine = (item) => dot(item.w, target) / (Math.hypot(...item.w) * Math.hypot(...target));

test("nearest vectors come first", async () => {
  const expected = items.toSorted(by(euclidean)).slice(0, 7);
  const query = {
    query: "SELECT TOP 7 c.id, VectorDistance(c.v, @target) AS d FROM c ORDER BY VectorDistance(c.v, @target)",
    parameters: [{ name: "@target", value: target }],
  };
  const found = await ask(query);
  assert.deepEqual(names(found), names(expected));
  found.forEach((row, at) => assert.ok(Math.abs(row.d - euclidean(expected[at])) < 1e-5 * (1 + row.d)));
});

test("most similar vectors come first", async () => {
  const expected = items.toSorted(by((item) => -cosine(item))).slice(0, 7);
  assert.deepEqual(
    names(await ask(`SELECT TOP 7 c.id FROM c ORDER BY VectorDistance(c.w, ${JSON.stringify(target)})`)),
    names(expected),
  );
});

test("vectors are searched in one partition with a filter", async () => {
  const inside = items.filter((item) => item.pk === "key2" && item.n > 5).sort(by(euclidean));
  const query = `SELECT TOP 3 c.id FROM c WHERE c.n > 5 ORDER BY VectorDistance(c.v, ${JSON.stringify(target)})`;
  assert.deepEqual(names(await ask(query, { partitionKey: "key2" })), names(inside.slice(0, 3)));
});

test("words are found", async () => {
  const has = (...words) => names(items.filter((item) => words.every((word) => item.text.split(" ").includes(word))));
  const find = async (filter) => names(await ask(`SELECT c.id FROM c WHERE ${filter}`)).sort();
  assert.deepEqual(await find("FullTextContains(c.text, 'harbour')"), has("harbour"));
  assert.deepEqual(await find("FullTextContainsAll(c.text, 'harbour', 'filler20')"), has("harbour", "filler20"));
  assert.deepEqual(await find("FullTextContainsAny(c.text, 'nowhere', 'filler22')"), has("filler22"));
});

test("texts are ranked", async () => {
  const found = await ask("SELECT TOP 8 c.id, c.said FROM c ORDER BY RANK FullTextScore(c.text, 'comet')");
  const expected = items.map((item) => item.said).sort((left, right) => right - left).slice(0, 8);
  assert.deepEqual(found.map((row) => row.said), expected);
});

test("ranks are fused", async () => {
  const half = items.filter((item) => item.n < 12);
  const orders = [half.toSorted(by((item) => -item.said)), half.toSorted(by(euclidean))];
  const score = (id) => orders.reduce((sum, order) => sum + 1 / (61 + names(order).indexOf(id)), 0).toFixed(9);
  const found = names(await ask(
    "SELECT TOP 12 c.id FROM c WHERE c.n < 12 " +
    `ORDER BY RANK RRF(FullTextScore(c.text, 'comet'), VectorDistance(c.v, ${JSON.stringify(target)}))`,
  ));
  assert.deepEqual(found.toSorted(), names(half));
  assert.deepEqual(found.map(score), names(half).map(score).sort().reverse());
});
