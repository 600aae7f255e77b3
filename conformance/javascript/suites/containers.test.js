// Containers: create, read, list, delete, defaults, ranges, replace rules.

import assert from "node:assert/strict";
import { test } from "node:test";
import { byPk, fails, ids, minPartitions, unique, useDatabase, write } from "../support.js";

const owner = useDatabase();
const unless = (condition) => ({ accessCondition: { type: "IfMatch", condition } });

test("a created container is completed with the defaults", async () => {
  const container = await owner.container();
  const { resource, headers } = await container.read();
  const { resource: database } = await owner.database.read();
  assert.deepEqual(resource.partitionKey, byPk);
  assert.deepEqual(resource.indexingPolicy, {
    indexingMode: "consistent",
    automatic: true,
    includedPaths: [{ path: "/*" }],
    excludedPaths: [{ path: '/"_etag"/?' }],
  });
  assert.deepEqual(resource.conflictResolutionPolicy, {
    mode: "LastWriterWins",
    conflictResolutionPath: "/_ts",
    conflictResolutionProcedure: "",
  });
  assert.deepEqual(resource.geospatialConfig, { type: "Geography" });
  assert.equal(resource._rid.length, 12);
  assert.equal(resource._self, `dbs/${database._rid}/colls/${resource._rid}/`);
  assert.equal(headers.etag, resource._etag);
});

test("a partition key without a version has the first one", async () => {
  const container = await owner.container({ partitionKey: "/pk" });
  const { resource } = await container.read();
  assert.deepEqual(resource.partitionKey.paths, ["/pk"]);
  assert.equal(resource.partitionKey.version ?? 1, 1);
  await write(container, { id: "1", pk: "a" }, { id: "1", pk: 7 });
  assert.equal((await container.item("1", "a").read()).resource.pk, "a");
  assert.equal((await container.item("1", 7).read()).resource.pk, 7);
});

test("containers are listed, and a second of a name is a conflict", async () => {
  const container = await owner.container();
  const { resources } = await owner.database.containers.readAll().fetchAll();
  assert.ok(ids(resources).includes(container.id));
  await fails(owner.database.containers.create({ id: container.id, partitionKey: byPk }), 409, "already exists");
  const { container: same } = await owner.database.containers.createIfNotExists({ id: container.id, partitionKey: "/x" });
  assert.deepEqual((await same.read()).resource.partitionKey.paths, ["/pk"]);
});

test("a missing container is not found", async () => {
  const missing = owner.database.container(unique("missing"));
  await fails(missing.read(), 404, "Resource Not Found");
  await fails(missing.delete(), 404);
  await fails(missing.item("1", "a").read(), 404);
});

test("a deleted container is gone, and its successor has another rid", async () => {
  const container = await owner.container();
  const { resource: before } = await container.read();
  assert.equal((await container.delete()).statusCode, 204);
  await fails(container.read(), 404);
  const { resource: after } = await owner.database.containers.create({ id: container.id, partitionKey: byPk });
  assert.notEqual(after._rid, before._rid);
});

test("concurrent create-if-not-exists creates one container", async () => {
  const definition = () => ({ id: "contended", partitionKey: { ...byPk } });
  const answers = await Promise.allSettled(
    Array.from({ length: 8 }, () => owner.database.containers.createIfNotExists(definition())),
  );
  const failures = answers.filter((answer) => answer.status === "rejected");
  assert.ok(failures.length < answers.length);
  for (const { reason } of failures) assert.equal(reason.code, 409, reason.message);
});

test("quota and usage are reported on request", async () => {
  const container = await owner.container();
  await write(container, { id: "1", pk: "a" }, { id: "2", pk: "b" });
  const { headers } = await container.read({ populateQuotaInfo: true });
  assert.match(headers["x-ms-resource-usage"], /documentsCount=2/);
  assert.match(headers["x-ms-resource-quota"], /collectionSize=/);
  assert.equal(headers["x-ms-documentdb-collection-index-transformation-progress"], "100");
});

test("replace changes what may change and keeps the identity", async () => {
  const container = await owner.container({ defaultTtl: 100 });
  const { resource: before } = await container.read();
  const { defaultTtl: _, ...body } = before;
  body.indexingPolicy = { ...before.indexingPolicy, excludedPaths: [{ path: "/big/*" }, { path: '/"_etag"/?' }] };
  body.computedProperties = [{ name: "lower", query: "SELECT VALUE LOWER(c.name) FROM c" }];
  body.changeFeedPolicy = { retentionDuration: 10 };
  assert.equal((await container.replace(body)).statusCode, 200);
  const { resource: after } = await container.read();
  assert.deepEqual(after.indexingPolicy, body.indexingPolicy);
  assert.deepEqual(after.computedProperties, body.computedProperties);
  assert.deepEqual(after.changeFeedPolicy, body.changeFeedPolicy);
  assert.equal(after.defaultTtl, undefined);
  assert.equal(after._rid, before._rid);
  assert.notEqual(after._etag, before._etag);
});

test("replace does not change what must stay", async () => {
  const container = await owner.container();
  const { resource: before } = await container.read();
  await fails(container.replace({ ...before, id: "another" }), 400);
  await fails(container.replace({ ...before, partitionKey: { ...byPk, paths: ["/other"] } }), 400);
  await fails(
    container.replace({ ...before, conflictResolutionPolicy: { mode: "LastWriterWins", conflictResolutionPath: "/v" } }),
    400,
  );
  await fails(container.replace({ ...before, uniqueKeyPolicy: { uniqueKeys: [{ paths: ["/email"] }] } }), 403);
  await fails(container.replace({ ...before, defaultTtl: 0 }), 400);
  assert.deepEqual((await container.read()).resource, before);
});

test("flat geometry may take the place of the globe", async () => {
  const container = await owner.container();
  const { resource: before } = await container.read();
  await container.replace({ ...before, geospatialConfig: { type: "Geometry" } });
  assert.deepEqual((await container.read()).resource.geospatialConfig, { type: "Geometry" });
});

test("the root of the index may be written as a slash", async () => {
  const container = await owner.container({ indexingPolicy: { includedPaths: [{ path: "/" }] } });
  const { resource } = await container.read();
  assert.deepEqual(resource.indexingPolicy.includedPaths, [{ path: "/*" }]);
});

test("unique keys must be repeated in a replace", async () => {
  const uniqueKeyPolicy = { uniqueKeys: [{ paths: ["/email"] }] };
  const container = await owner.container({ uniqueKeyPolicy });
  const { uniqueKeyPolicy: _, ...rest } = (await container.read()).resource;
  await fails(container.replace({ ...rest, defaultTtl: 60 }), 403, "The unique index cannot be modified");
  assert.equal((await container.replace({ ...rest, uniqueKeyPolicy, defaultTtl: 60 })).statusCode, 200);
  assert.deepEqual((await container.read()).resource.uniqueKeyPolicy, uniqueKeyPolicy);
});

test("replace and delete honour if-match", async () => {
  const container = await owner.container();
  const { resource } = await container.read();
  await fails(container.replace({ ...resource, defaultTtl: 60 }, unless('"another"')), 412);
  const { resource: after } = await container.replace({ ...resource, defaultTtl: 60 }, unless(resource._etag));
  await fails(container.delete(unless(resource._etag)), 412);
  assert.equal((await container.delete(unless(after._etag))).statusCode, 204);
});

test("the conflicts feed is empty", async () => {
  const container = await owner.container();
  assert.deepEqual((await container.conflicts.readAll().fetchAll()).resources, []);
  await fails(container.conflict("missing", "a").delete(), 404);
});

test("a fresh container has the configured number of ranges", async () => {
  const container = await owner.container();
  assert.ok((await container.getFeedRanges()).length >= minPartitions);
});
