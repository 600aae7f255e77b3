// What the growth tests share: a container's ranges moved over the management API, and work that keeps a ledger.
//
// Every worker checks what it sees as it goes. A worker that gets an error ends the test: the SDK's own retries
// are all the help an application has while its container grows.

import assert from "node:assert/strict";
import http from "node:http";
import https from "node:https";
import { ChangeFeedStartFrom } from "@azure/cosmos";
import { connect, endpoint, key, sleep } from "./support.js";

export const rangesMax = 16;
export const rangesMin = 2;
const keys = 48;
const fixedItems = 240;
const pageItems = 25;
const emptyPagesMax = 20;
const fixedRanks = Array.from({ length: fixedItems }, (_, n) => n);

/** The ranges of one container, as an operator sees and moves them. */
export class Ranges {
  #path;

  constructor(container) {
    this.#path = `dbs/${container.database.id}/colls/${container.id}/ranges`;
  }

  /** In the order of the hash space. */
  async ids() {
    const { ranges } = await manage("GET", this.#path);
    return ranges.sort((a, b) => (a.min < b.min ? -1 : 1)).map((it) => it.id);
  }

  /** Splits ranges, all at once, so that there are twice as many, up to the maximum. */
  async grow() {
    const ids = await this.ids();
    const parents = ids.slice(0, rangesMax - ids.length);
    await this.#all(parents.map((id) => [`${id}/split`, { wait: true }]));
  }

  /** Merges neighbours, all pairs at once, so that there are half as many, down to the minimum. */
  async shrink() {
    const ids = await this.ids();
    const pairs = [];
    for (let n = 0; n + 1 < ids.length; n += 2) pairs.push([ids[n], ids[n + 1]]);
    const merged = pairs.slice(0, ids.length - rangesMin);
    await this.#all(merged.map((ranges) => ["merge", { ranges, wait: true }]));
  }

  async #all(commands) {
    const ended = await Promise.all(
      commands.map(([what, body]) => manage("POST", `${this.#path}/${what}`, body)),
    );
    for (const it of ended) assert.equal(it.end, "done", JSON.stringify(it));
  }
}

function manage(verb, path, body) {
  const url = new URL(`_orrery/${path}`, endpoint);
  const { request } = url.protocol === "https:" ? https : http;
  // The certificate of a local server is self-signed.
  const options = {
    method: verb,
    rejectUnauthorized: false,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
  };
  return new Promise((resolve, reject) => {
    const sent = request(url, options, async (answer) => {
      let text = "";
      for await (const part of answer) text += part;
      if (answer.statusCode < 300) resolve(JSON.parse(text));
      else reject(new Error(`${verb} ${path}: ${answer.statusCode} ${text}`));
    });
    sent.on("error", reject);
    sent.end(body && JSON.stringify(body));
  });
}

/** Everything that goes on while the ranges move; `isOver` ends it. */
export class Work {
  isOver = false;
  /** What was acknowledged: key, version and session token of every item that must exist. */
  live = new Map();
  /** The last version of each item that the change feed showed. */
  seen = new Map();
  written = 0;
  rounds = { reads: 0, queries: 0, pages: 0, changes: 0, givenUp: 0, repeated: 0 };

  /** `other` is the same container through another client, with a session of its own. */
  constructor(container, other) {
    this.container = container;
    this.other = other;
  }

  /** The items of a key come one after another: in a query without ORDER BY they have the order of creation. */
  async fill() {
    const fillKey = async (key) => {
      for (let rank = key; rank < fixedItems; rank += keys) {
        await this.container.items.create({ id: `f${rank}`, pk: `k${key}`, fixed: true, rank });
      }
    };
    await Promise.all(Array.from({ length: keys }, (_, key) => fillKey(key)));
  }

  /** Runs workers until one fails or all end; a failure stops the others. */
  async run(...workers) {
    const guarded = workers.map(async (worker) => {
      try {
        return await worker;
      } catch (error) {
        this.isOver = true;
        throw error;
      }
    });
    const ended = await Promise.allSettled(guarded);
    for (const it of ended) if (it.status === "rejected") throw it.reason;
    return ended.map((it) => it.value);
  }

  /** One writer's life: every kind of write, on items that are its own. */
  async write(writer) {
    for (let n = 0; !this.isOver; n++) {
      const pk = `k${(n * 31 + writer * 7) % keys}`;
      await this.#lifeOfAnItem(`w${writer}-${n}`, pk, n % 3 !== 0);
      await this.#batch(`w${writer}-${n}`, pk);
    }
  }

  async #lifeOfAnItem(id, pk, isKept) {
    const { items } = this.container;
    const item = this.container.item(id, pk);
    this.#put(id, pk, 1, await items.create({ id, pk, version: 1 }));
    this.#put(id, pk, 2, await items.upsert({ id, pk, version: 2 }));
    this.#put(id, pk, 3, await item.replace({ id, pk, version: 3 }));
    const patched = await item.patch([{ op: "incr", path: "/version", value: 1 }]);
    assert.equal(patched.resource.version, 4, `${id} was patched from another version`);
    this.#put(id, pk, 4, patched);
    if (isKept) return;
    this.live.delete(id); // Readers stop looking before it goes.
    await item.delete();
    this.written++;
  }

  async #batch(id, pk) {
    const names = [0, 1, 2].map((n) => `${id}-b${n}`);
    const create = (name) => ({ operationType: "Create", resourceBody: { id: name, pk, version: 1 } });
    const upsert = { operationType: "Upsert", resourceBody: { id: names[0], pk, version: 2 } };
    const answer = await this.container.items.batch([...names.map(create), upsert], pk);
    assert.deepEqual(answer.result.map((it) => it.statusCode), [201, 201, 201, 200]);
    for (const name of names) this.#put(name, pk, name === names[0] ? 2 : 1, answer);
  }

  #put(id, pk, version, answer) {
    this.live.set(id, { pk, version, token: answer.headers["x-ms-session-token"] });
    this.written++;
  }

  /** Reads what was just acknowledged: by the writers' session, or with their token in another one. */
  async read(isOwn) {
    const container = isOwn ? this.container : this.other;
    for (let n = 0; !this.isOver; n++) {
      const recent = [...this.live].slice(-20);
      if (recent.length === 0) {
        await sleep(10);
        continue;
      }
      const [id, { pk, version, token }] = recent[n % recent.length];
      const answer = await container.item(id, pk).read(isOwn ? {} : { sessionToken: token });
      // It may have been deleted meanwhile, and only then be missing.
      if (answer.statusCode === 404 && !this.live.has(id)) continue;
      assert.equal(answer.statusCode, 200, id);
      assert.ok(answer.resource.version >= version, `${id}: ${answer.resource.version} after ${version}`);
      this.rounds.reads++;
    }
  }

  /** The fixed items, by rank, over all ranges: all of them, once, in order. */
  async queryInOrder() {
    const text = "SELECT VALUE c.rank FROM c WHERE c.fixed = true ORDER BY c.rank";
    while (!this.isOver) {
      const ranks = await this.#fanOut(text);
      if (ranks) assert.deepEqual(ranks, fixedRanks);
    }
  }

  /** An aggregate that the client puts together from all ranges. */
  async count() {
    while (!this.isOver) {
      const counted = await this.#fanOut("SELECT VALUE COUNT(1) FROM c WHERE c.fixed = true");
      if (counted) assert.deepEqual(counted, [fixedItems]);
    }
  }

  /**
   * The rows of a query that the SDK sends to all ranges; nothing if a range went away meanwhile. The SDK keeps the 410
   * of such a range to itself, never asks for the new ranges and answers with empty pages for ever, so that an
   * application must give up and begin with a new client. No answer of the service would help it.
   */
  async #fanOut(text) {
    const client = connect();
    const container = client.database(this.container.database.id).container(this.container.id);
    const query = container.items.query(text, { maxItemCount: pageItems });
    const rows = [];
    let nEmpty = 0;
    while (query.hasMoreResults() && nEmpty < emptyPagesMax) {
      const { resources = [] } = await query.fetchNext();
      rows.push(...resources);
      nEmpty = resources.length > 0 ? 0 : nEmpty + 1;
      this.rounds.pages++;
      await sleep(20);
    }
    client.dispose();
    this.rounds[nEmpty < emptyPagesMax ? "queries" : "givenUp"]++;
    return nEmpty < emptyPagesMax ? rows : undefined;
  }

  /** One logical partition, each page through a new query, so that only the token carries over. */
  async queryOneKey() {
    const plain = "SELECT VALUE c.rank FROM c WHERE c.fixed = true";
    for (let n = 0; !this.isOver; n++) {
      const text = n % 2 === 0 ? plain : `${plain} ORDER BY c.rank`;
      const number = (n * 17) % keys;
      const ranks = [];
      let continuationToken;
      do {
        const options = { partitionKey: `k${number}`, maxItemCount: 2, continuationToken };
        const page = await this.container.items.query(text, options).fetchNext();
        ranks.push(...page.resources);
        continuationToken = page.continuationToken;
        this.rounds.pages++;
        await sleep(50);
      } while (continuationToken);
      assert.deepEqual(ranks, fixedRanks.filter((rank) => rank % keys === number));
    }
  }

  /** Follows the change feed from the beginning; stops when the writers have and nothing is new. */
  async follow() {
    let start = ChangeFeedStartFrom.Beginning();
    for (;;) {
      const isLast = this.isOver;
      let isNew = false;
      const feed = this.other.items.getChangeFeedIterator({ changeFeedStartFrom: start, maxItemCount: 50 });
      for (;;) {
        const page = await feed.readNext();
        // A new reader goes on from here: only the token carries over.
        start = ChangeFeedStartFrom.Continuation(page.continuationToken);
        if (page.statusCode === 304) break;
        isNew = true;
        for (const item of page.result) this.#see(item);
      }
      if (isLast && !isNew) return;
      await sleep(20);
    }
  }

  /**
   * A version may come again. When a range moves twice before the SDK has followed, it keeps the span of before beside
   * the parts of it that it has found since, and asks for both. An older version never comes after a newer one.
   */
  #see({ id, version = 0 }) {
    this.rounds.changes++;
    const before = this.seen.get(id) ?? -1;
    assert.ok(version >= before, `${id}: version ${version} in the feed after ${before}`);
    if (version === before) this.rounds.repeated++;
    this.seen.set(id, version);
  }

  /** At the end: the container, the change feed and the ledger agree. */
  async check() {
    const text = "SELECT c.id, c.pk, c.version FROM c WHERE NOT IS_DEFINED(c.fixed)";
    const resources = await this.#fanOut(text);
    const line = ({ id, pk, version }) => `${id} ${pk} ${version}`;
    const expected = [...this.live].map(([id, it]) => ({ id, ...it }));
    assert.deepEqual(resources.map(line).sort(), expected.map(line).sort());
    for (const { id, version } of expected) assert.equal(this.seen.get(id), version, `${id} in the feed`);
  }
}
