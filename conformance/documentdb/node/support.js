// What the suites share: the versions of the package, plain HTTP, promises, and a database for each test.

import assert from "node:assert/strict";
import http from "node:http";
import https from "node:https";
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { test } from "node:test";

const require = createRequire(import.meta.url);

const endpoint = process.env.ORRERY_ENDPOINT ?? "http://127.0.0.1:8081/";
const key =
  process.env.ORRERY_KEY ??
  // The key that every emulator of this protocol starts with; it protects nothing.
  "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

// The package knows `https` only, and insists on TLS 1.0, which nobody speaks any more: its requests go over plain HTTP.
const agent = new http.Agent({ keepAlive: true });
https.request = (options, callback) => http.request({ ...options, protocol: "http:", agent }, callback);

const versions = ["1.6", "1.10", "1.15"];

/** Runs a test with every version of the package, each time in a database of its own. */
export function withEveryVersion(claim, check) {
  for (const version of versions) {
    test(`${claim} (documentdb ${version})`, async () => {
      const library = require(`documentdb-${version}`);
      const world = await World.create(library);
      try {
        await check(world);
      } finally {
        await world.call("deleteDatabase", world.link);
      }
    });
  }
}

export const cities = ["Aachen", "Bonn", "Cuxhaven", "Dresden", "Essen", "Freiburg", "Görlitz"];

/** The nth document: a profile that belongs to a user and a city. */
export const profile = (n) => ({
  id: `p${n}`,
  userId: `user ${n}`,
  city: cities[n % cities.length],
  visits: (n * 7) % 1000,
});

export class World {
  static async create(library) {
    const world = new World();
    world.library = library;
    world.client = new library.DocumentClient(endpoint.replace(/\/$/, ""), { masterKey: key });
    const database = await world.call("createDatabase", { id: `documentdb-${randomUUID()}` });
    world.link = database._self;
    return world;
  }

  /** Calls a method of the client; its last argument is a callback there, and an answer here. */
  call(method, ...words) {
    return new Promise((resolve, reject) => {
      this.client[method](...words, (error, answer) => (error ? reject(error) : resolve(answer)));
    });
  }

  /** The rows of a query, or of a feed when there is none. */
  rows(link, query, options) {
    const iterator = query
      ? this.client.queryDocuments(link, query, options)
      : this.client.readDocuments(link, options);
    return new Promise((resolve, reject) => {
      iterator.toArray((error, rows) => (error ? reject(error) : resolve(rows)));
    });
  }

  /** Makes containers without a partition key; returns their links. */
  async containers(count) {
    const links = [];
    for (let n = 0; n < count; n++) {
      const made = await this.call("createCollection", this.link, { id: `c${n}` });
      assert.equal(made.partitionKey, undefined, "a container that was made without a key shows none");
      links.push(made._self);
    }
    return links;
  }

  /** Lets a resolver decide where documents of the database are. */
  resolveWith(resolver) {
    this.client.partitionResolvers[this.link] = resolver;
  }

  async fill(count) {
    for (let n = 0; n < count; n++) await this.call("createDocument", this.link, profile(n));
  }
}
