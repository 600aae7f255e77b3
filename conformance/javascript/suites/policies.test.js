// Policies of a container: validated, completed, kept, returned.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ChangeFeedPolicy, ChangeFeedRetentionTimeSpan } from "@azure/cosmos";
import { fails, useDatabase } from "../support.js";

const owner = useDatabase();
const etagPath = { path: '/"_etag"/?' };

const vectors = {
  vectorEmbeddings: [
    { path: "/v1", dataType: "float32", dimensions: 8, distanceFunction: "cosine" },
    { path: "/v2", dataType: "int8", dimensions: 200, distanceFunction: "dotproduct" },
  ],
};
const fullText = { defaultLanguage: "en-US", fullTextPaths: [{ path: "/text", language: "en-US" }] };
const all = [{ path: "/*" }];

async function created(definition) {
  return (await (await owner.container(definition)).read()).resource;
}

test("a partial indexing policy is completed", async () => {
  const { indexingPolicy } = await created({ indexingPolicy: { excludedPaths: [{ path: "/secret/?" }] } });
  assert.deepEqual(indexingPolicy, {
    indexingMode: "consistent",
    automatic: true,
    includedPaths: all,
    excludedPaths: [{ path: "/secret/?" }, etagPath],
  });
});

test("indexing can be switched off", async () => {
  const { indexingPolicy } = await created({ indexingPolicy: { indexingMode: "none", automatic: false } });
  assert.equal(indexingPolicy.indexingMode, "none");
  assert.deepEqual(indexingPolicy.includedPaths ?? [], []);
});

// Whatever types are asked for, a spatial index has all of them, and the service says so.
const shapes = ["Point", "LineString", "Polygon", "MultiPolygon"];

test("composite and spatial indexes are kept", async () => {
  const indexes = {
    compositeIndexes: [[{ path: "/a", order: "ascending" }, { path: "/b", order: "descending" }]],
    spatialIndexes: [{ path: "/place/*", types: ["Point", "Polygon"] }],
  };
  const { indexingPolicy } = await created({ indexingPolicy: { includedPaths: all, ...indexes } });
  assert.deepEqual(indexingPolicy.compositeIndexes, indexes.compositeIndexes);
  assert.deepEqual(indexingPolicy.spatialIndexes, [{ path: "/place/*", types: shapes }]);
});

test("geometry needs bounding boxes and is kept", async () => {
  const spatial = { path: "/place/*", types: ["Point"], boundingBox: { xmin: 0, ymin: 0, xmax: 10, ymax: 10 } };
  const made = await created({
    geospatialConfig: { type: "Geometry" },
    indexingPolicy: { includedPaths: all, spatialIndexes: [spatial] },
  });
  assert.deepEqual(made.geospatialConfig, { type: "Geometry" });
  assert.deepEqual(made.indexingPolicy.spatialIndexes, [{ ...spatial, types: shapes }]);
  const { boundingBox: _, ...boundless } = spatial;
  await fails(
    owner.container({
      geospatialConfig: { type: "Geometry" },
      indexingPolicy: { includedPaths: all, spatialIndexes: [boundless] },
    }),
    400,
  );
});

test("unique keys, times to live, conflict and computed properties are kept", async () => {
  const definition = {
    uniqueKeyPolicy: { uniqueKeys: [{ paths: ["/email"] }, { paths: ["/a", "/b/c"] }] },
    defaultTtl: -1,
    computedProperties: [{ name: "lower", query: "SELECT VALUE LOWER(c.name) FROM c" }],
  };
  const made = await created(definition);
  for (const [name, value] of Object.entries(definition)) assert.deepEqual(made[name], value, name);
  const custom = await created({ conflictResolutionPolicy: { mode: "LastWriterWins", conflictResolutionPath: "/v" } });
  assert.equal(custom.conflictResolutionPolicy.conflictResolutionPath, "/v");
});

test("the change feed policy is kept", async () => {
  const changeFeedPolicy = new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(10));
  assert.deepEqual((await created({ changeFeedPolicy })).changeFeedPolicy, { retentionDuration: 10 });
});

test("vector and full-text policies are kept", async () => {
  const made = await created({
    vectorEmbeddingPolicy: vectors,
    fullTextPolicy: fullText,
    indexingPolicy: {
      includedPaths: all,
      vectorIndexes: [{ path: "/v1", type: "flat" }, { path: "/v2", type: "diskANN" }],
      fullTextIndexes: [{ path: "/text" }],
    },
  });
  assert.deepEqual(made.vectorEmbeddingPolicy, vectors);
  assert.deepEqual(made.fullTextPolicy, fullText);
  assert.deepEqual(made.indexingPolicy.vectorIndexes.map(({ path, type }) => `${path} ${type}`), ["/v1 flat", "/v2 diskANN"]);
  assert.deepEqual(made.indexingPolicy.fullTextIndexes, [{ path: "/text" }]);
});

test("hierarchical definitions are kept", async () => {
  const partitionKey = { paths: ["/tenant", "/user"], kind: "MultiHash", version: 2 };
  assert.deepEqual((await created({ partitionKey })).partitionKey, partitionKey);
});

const embedding = (change) => ({ vectorEmbeddings: [{ ...vectors.vectorEmbeddings[0], ...change }] });
const refused = {
  "a policy without the root path": [{ indexingPolicy: { includedPaths: [{ path: "/a/?" }] } }, "The special mandatory indexing path"],
  "a path without an ending": [{ indexingPolicy: { includedPaths: [...all, { path: "/a" }] } }],
  "an automatic policy that does not index": [{ indexingPolicy: { indexingMode: "none", automatic: true } }],
  "a composite index of one path": [{ indexingPolicy: { compositeIndexes: [[{ path: "/a" }]] } }],
  "a spatial index without types": [
    { indexingPolicy: { spatialIndexes: [{ path: "/p/*", types: [] }] } },
    "The spatial data types array cannot be empty",
  ],
  "eleven unique keys": [{ uniqueKeyPolicy: { uniqueKeys: Array.from({ length: 11 }, (_, n) => ({ paths: [`/p${n}`] })) } }],
  "a time to live of zero": [{ defaultTtl: 0 }],
  "a time to live of -2": [{ defaultTtl: -2 }],
  "an unknown distance": [{ vectorEmbeddingPolicy: embedding({ distanceFunction: "taxi" }) }, "has an invalid DistanceFunction:taxi"],
  "an unknown data type": [{ vectorEmbeddingPolicy: embedding({ dataType: "float8" }) }, "has an invalid DataType"],
  "a vector without dimensions": [{ vectorEmbeddingPolicy: embedding({ dimensions: 0 }) }, "has Dimensions:0"],
  "an unknown vector index": [
    { vectorEmbeddingPolicy: vectors, indexingPolicy: { includedPaths: all, vectorIndexes: [{ path: "/v1", type: "bush" }] } },
    "Index Type::bush is invalid",
  ],
  "an unknown conflict mode": [{ conflictResolutionPolicy: { mode: "FirstWins" } }],
  "a computed property with a filter": [{ computedProperties: [{ name: "a", query: "SELECT VALUE c.n FROM c WHERE c.n = 1" }] }],
  "an unknown geospatial type": [{ geospatialConfig: { type: "Flat" } }],
  "four key paths": [{ partitionKey: { paths: ["/a", "/b", "/c", "/d"], kind: "MultiHash", version: 2 } }, "Too many partition key paths"],
  "a hierarchical key of the first hash": [{ partitionKey: { paths: ["/a", "/b"], kind: "MultiHash", version: 1 } }],
  "a key path that ends in /?": [{ partitionKey: { paths: ["/a/?"], kind: "Hash", version: 2 } }],
};

for (const [what, [definition, text = ""]] of Object.entries(refused)) {
  test(`${what} is refused`, async () => {
    await fails(owner.container(definition), 400, text);
  });
}
