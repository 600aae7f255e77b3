// Resolvers of the package, and one of the program's own: where documents go, and where they are looked for.

import assert from "node:assert/strict";
import { cities, profile, withEveryVersion } from "../support.js";

const byUser = (document) => document.userId;
const byCity = (document) => document.city;

/** Every document is where the resolver says, once; each is found by its key, all without one. */
async function isSpreadAndFound(world, resolver, links, count) {
  const ids = new Set();
  for (const link of links) {
    for (const document of await world.rows(link)) {
      assert.equal(resolver.resolveForCreate(resolver.getPartitionKey(document)), link);
      assert.ok(!ids.has(document.id), `${document.id} is there once`);
      ids.add(document.id);
    }
  }
  assert.equal(ids.size, count);
  const query = "SELECT * FROM c WHERE c.userId = 'user 42'";
  const one = await world.rows(world.link, query, { partitionKey: resolver.getPartitionKey(profile(42)) });
  assert.deepEqual(one.map((document) => document.id), ["p42"]);
  assert.equal((await world.rows(world.link, "SELECT * FROM c")).length, count);
}

withEveryVersion("a hash resolver spreads documents and finds them", async (world) => {
  const links = await world.containers(3);
  const resolver = new world.library.HashPartitionResolver(byUser, links);
  world.resolveWith(resolver);
  await world.fill(120);
  await isSpreadAndFound(world, resolver, links, 120);
});

withEveryVersion("a range resolver keeps neighbours together", async (world) => {
  const { Range, RangePartitionResolver } = world.library;
  const links = await world.containers(3);
  const resolver = new RangePartitionResolver(byCity, [
    { range: new Range({ low: "A", high: "C\uffff" }), link: links[0] },
    { range: new Range({ low: "D", high: "E\uffff" }), link: links[1] },
    { range: new Range({ low: "F", high: "Z\uffff" }), link: links[2] },
  ]);
  world.resolveWith(resolver);
  await world.fill(70);
  const counts = await Promise.all(links.map(async (link) => (await world.rows(link)).length));
  assert.deepEqual(counts, [30, 20, 20]);
  await isSpreadAndFound(world, resolver, links, 70);
});

withEveryVersion("a lookup resolver follows its table", async (world) => {
  const links = await world.containers(2);
  const table = new Map(cities.map((city) => [city, links[city < "D" ? 0 : 1]]));
  const resolver = {
    getPartitionKey: byCity,
    resolveForCreate: (city) => table.get(city),
    resolveForRead: (city) => (city === undefined || city === null ? links : [table.get(city)]),
  };
  world.resolveWith(resolver);
  await world.fill(70);
  assert.deepEqual([30, 40], await Promise.all(links.map(async (link) => (await world.rows(link)).length)));
  await isSpreadAndFound(world, resolver, links, 70);
});

withEveryVersion("documents move from three containers to four and back", async (world) => {
  const links = await world.containers(4);
  const { HashPartitionResolver } = world.library;
  const [narrow, wide] = [3, 4].map((n) => new HashPartitionResolver(byUser, links.slice(0, n)));
  const move = async (to) => {
    let moved = 0;
    for (const link of links) {
      for (const document of await world.rows(link)) {
        const place = to.resolveForCreate(to.getPartitionKey(document));
        if (place === link) continue;
        const { id, userId, city, visits } = document;
        await world.call("createDocument", place, { id, userId, city, visits });
        await world.call("deleteDocument", document._self);
        moved++;
      }
    }
    world.resolveWith(to);
    await isSpreadAndFound(world, to, links, 200);
    return moved;
  };
  world.resolveWith(narrow);
  await world.fill(200);
  const moved = await move(wide);
  assert.ok(moved > 10 && moved < 110, `about a quarter moves, not ${moved}`);
  assert.equal(await move(narrow), moved);
  assert.deepEqual(await world.rows(links[3]), []);
});
