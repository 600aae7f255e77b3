// One container without a partition key, as programs of its time use it.

import assert from "node:assert/strict";
import { profile, withEveryVersion } from "../support.js";

withEveryVersion("documents need no key", async (world) => {
  const [link] = await world.containers(1);
  const created = await world.call("createDocument", link, profile(1));
  assert.equal((await world.call("readDocument", created._self)).city, "Bonn");
  const replaced = await world.call("replaceDocument", created._self, { ...profile(1), city: "Ulm" });
  assert.equal(replaced.city, "Ulm");
  const stale = { accessCondition: { type: "IfMatch", condition: created._etag } };
  await assert.rejects(world.call("replaceDocument", created._self, profile(1), stale), { code: 412 });
  await world.call("deleteDocument", created._self);
  await assert.rejects(world.call("readDocument", created._self), { code: 404 });
});

withEveryVersion("queries need neither a key nor leave to cross partitions", async (world) => {
  const [link] = await world.containers(1);
  for (let n = 0; n < 30; n++) await world.call("createDocument", link, profile(n));
  const rows = (query, options) => world.rows(link, query, options);
  assert.deepEqual(await rows("SELECT VALUE COUNT(1) FROM c"), [30]);
  assert.deepEqual(await rows("SELECT TOP 3 VALUE c.visits FROM c ORDER BY c.visits DESC"), [203, 196, 189]);
  const bonn = {
    query: "SELECT VALUE c.visits FROM c WHERE c.city = @city ORDER BY c.visits",
    parameters: [{ name: "@city", value: "Bonn" }],
  };
  assert.deepEqual(await rows(bonn, { maxItemCount: 2 }), [7, 56, 105, 154, 203]);
});

withEveryVersion("a stored procedure runs without a key", async (world) => {
  const [link] = await world.containers(1);
  const body = function (id) {
    const items = getContext().getCollection();
    items.createDocument(items.getSelfLink(), { id }, (error, made) => {
      if (error) throw error;
      getContext().getResponse().setBody(made.id);
    });
  };
  const procedure = await world.call("createStoredProcedure", link, { id: "make", serverScript: body });
  assert.equal(await world.call("executeStoredProcedure", procedure._self, ["made"]), "made");
  assert.deepEqual((await world.rows(link)).map((document) => document.id), ["made"]);
});

withEveryVersion("a container tells its quota, its usage and its index without being asked", async (world) => {
  const [link] = await world.containers(1);
  const headers = await new Promise((resolve, reject) => {
    world.client.readCollection(link, (error, _, headers) => (error ? reject(error) : resolve(headers)));
  });
  assert.match(headers["x-ms-resource-quota"], /collectionSize=\d+;/);
  assert.match(headers["x-ms-resource-usage"], /collectionSize=\d+;/);
  assert.equal(headers["x-ms-documentdb-collection-index-transformation-progress"], "100");
  assert.match(headers["x-ms-session-token"], /^0:\d+$/);
});
