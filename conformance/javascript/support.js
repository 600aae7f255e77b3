// What the suites share: clients, names, a database per file, and expected failures.

import assert from "node:assert/strict";
import https from "node:https";
import { randomUUID } from "node:crypto";
import { after, before } from "node:test";
import { ChangeFeedStartFrom, CosmosClient } from "@azure/cosmos";

export const endpoint = process.env.ORRERY_ENDPOINT ?? "http://127.0.0.1:8081/";
export const key =
  process.env.ORRERY_KEY ??
  // The key that every emulator of this protocol starts with; it protects nothing.
  "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";
export const readOnlyKey = process.env.ORRERY_READ_ONLY_KEY;
export const minPartitions = Number(process.env.ORRERY_MIN_PARTITIONS ?? "1");

export const byPk = Object.freeze({ paths: ["/pk"], kind: "Hash", version: 2 });

// Invariant: the certificate of a fresh server is self-signed, so https needs an agent that accepts it.
const agent = endpoint.startsWith("https:")
  ? new https.Agent({ keepAlive: true, rejectUnauthorized: false })
  : undefined;

/** Opens a client; options replace the endpoint and the read-write key. */
export function connect(options = {}) {
  const credentials = options.resourceTokens || options.permissionFeed ? {} : { key };
  return new CosmosClient({ endpoint, agent, ...credentials, ...options });
}

export const client = connect();

/** A name no other test and no other run uses. */
export const unique = (prefix) => `${prefix}-${randomUUID().slice(0, 13)}`;

/** A database for one file of tests, removed after the last; `container` makes containers in it. */
export function useDatabase(definition = {}) {
  const owner = {
    async container(properties = {}) {
      const made = await owner.database.containers.create({
        id: unique("container"),
        partitionKey: byPk,
        ...properties,
      });
      return made.container;
    },
  };
  before(async () => {
    const made = await client.databases.create({ id: unique("database"), ...definition });
    owner.database = made.database;
  });
  after(async () => {
    await owner.database?.delete();
    client.dispose();
    agent?.destroy();
  });
  return owner;
}

/** Expects a call to fail with this status, and with these pieces of its message; a number is the sub-status. */
export async function fails(call, status, ...expected) {
  let error;
  try {
    const answer = await call;
    // The SDK answers a point read of a missing item without throwing.
    if (answer?.statusCode >= 400) error = { code: answer.statusCode, substatus: answer.substatus };
  } catch (thrown) {
    error = thrown.code === undefined && thrown.cause ? thrown.cause : thrown;
  }
  assert.ok(error, `expected a failure with status ${status}`);
  assert.equal(error.code, status, `expected status ${status}, got ${error.code}: ${error.message}`);
  const message = `${error.body?.message ?? ""} ${error.message ?? ""}`;
  for (const part of expected) {
    if (typeof part === "number") assert.equal(error.substatus, part, message);
    else assert.ok(message.includes(part), `"${part}" is missing in: ${message}`);
  }
  return error;
}

/** Creates items and returns what the server answered. */
export async function write(container, ...bodies) {
  const made = [];
  for (const body of bodies) made.push((await container.items.create(body)).resource);
  return made;
}

/** The ids of items, sorted: order across ranges is nobody's promise. */
export const ids = (items) => items.map((item) => item.id).sort();

/** All items of a container, read through its change feed: that needs no query. */
export async function everything(container) {
  return (await changes(container, { changeFeedStartFrom: ChangeFeedStartFrom.Beginning() })).items;
}

/** Reads a change feed until nothing is new; returns the changes, their pages and the place to resume. */
export async function changes(container, options) {
  const feed = container.items.getChangeFeedIterator(options);
  const pages = [];
  for (;;) {
    const page = await feed.readNext();
    if (page.statusCode === 304) return { items: pages.flat(), pages, continuation: page.continuationToken };
    pages.push(page.result);
  }
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Equality of the parts of an item that the client wrote. */
export function sameContent(found, sent) {
  for (const [name, value] of Object.entries(sent)) assert.deepEqual(found[name], value, name);
}
