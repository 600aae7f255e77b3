// Offers: manual, autoscale, shared by a database.

import assert from "node:assert/strict";
import { test } from "node:test";
import { byPk, client, fails, unique, useDatabase } from "../support.js";

const owner = useDatabase();
const shared = useDatabase({ throughput: 1000 });

test("a container without throughput gets 400", async () => {
  const container = await owner.container();
  const { resource: found } = await container.read();
  const { resource: offer } = await container.readOffer();
  assert.equal(offer.content.offerThroughput, 400);
  assert.equal(offer.resource, found._self);
  assert.equal(offer.offerResourceId, found._rid);
  assert.equal(offer.offerVersion, "V2");
  assert.equal(offer._self, `offers/${offer._rid}/`);
  assert.equal(offer.id, offer._rid);
});

test("an offer is read with its minimum", async () => {
  const container = await owner.container({ throughput: 1000 });
  const { offer } = await container.readOffer();
  const { resource, headers } = await offer.read();
  assert.equal(resource.content.offerThroughput, 1000);
  assert.equal(headers["x-ms-cosmos-min-throughput"], "400");
  assert.equal(headers["x-ms-offer-replace-pending"], "false");
  assert.equal(headers.etag, resource._etag);
});

test("manual throughput is replaced", async () => {
  const container = await owner.container({ throughput: 1000 });
  const { resource, offer } = await container.readOffer();
  resource.content.offerThroughput = 700;
  assert.equal((await offer.replace(resource)).resource.content.offerThroughput, 700);
  const { resource: after } = await container.readOffer();
  assert.equal(after.content.offerThroughput, 700);
  assert.equal(after._rid, resource._rid);
  assert.notEqual(after._etag, resource._etag);
});

test("autoscale throughput is kept and replaced", async () => {
  const container = await owner.container({ maxThroughput: 4000 });
  const { resource, offer } = await container.readOffer();
  assert.equal(resource.content.offerAutopilotSettings.maxThroughput, 4000);
  assert.ok(resource.content.offerThroughput >= 400);
  resource.content.offerAutopilotSettings.maxThroughput = 6000;
  await offer.replace(resource);
  assert.equal((await container.readOffer()).resource.content.offerAutopilotSettings.maxThroughput, 6000);
});

test("throughput of a database is shared", async () => {
  const { resource, offer } = await shared.database.readOffer();
  assert.equal(resource.content.offerThroughput, 1000);
  const sharing = await shared.container();
  assert.equal((await sharing.readOffer()).resource, undefined);
  const own = await shared.container({ throughput: 500 });
  assert.equal((await own.readOffer()).resource.content.offerThroughput, 500);
  resource.content.offerThroughput = 1200;
  await offer.replace(resource);
  assert.equal((await shared.database.readOffer()).resource.content.offerThroughput, 1200);
});

test("a database without throughput has no offer", async () => {
  assert.equal((await owner.database.readOffer()).resource, undefined);
});

test("offers are listed", async () => {
  const container = await owner.container();
  const { resource } = await container.readOffer();
  const { resources } = await client.offers.readAll().fetchAll();
  assert.ok(resources.some((offer) => offer.id === resource.id));
});

test("offers of deleted containers are gone", async () => {
  const container = await owner.container();
  const { offer } = await container.readOffer();
  await container.delete();
  await fails(offer.read(), 404);
});

test("throughput has a minimum and increments", async () => {
  const refuse = (properties) =>
    fails(owner.database.containers.create({ id: unique("refused"), partitionKey: byPk, ...properties }), 400);
  await refuse({ throughput: 100 });
  await refuse({ throughput: 450 });
  await refuse({ maxThroughput: 500 });
  await refuse({ maxThroughput: 1500 });
  const container = await owner.container();
  const { resource, offer } = await container.readOffer();
  resource.content.offerThroughput = 300;
  await fails(offer.replace(resource), 400);
  assert.equal((await container.readOffer()).resource.content.offerThroughput, 400);
});
