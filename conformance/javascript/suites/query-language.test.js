// Ordering, grouping, aggregates and paging through the SDK, against answers worked out here.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fails, ids, minPartitions, useDatabase, write } from "../support.js";

const owner = useDatabase();

/** Item `n`; `mixed` has every type that can be a sort key, and is missing now and then. */
function make(n) {
  const item = { id: `${n}`.padStart(3, "0"), pk: `key${n % 7}`, n, team: `t${n % 4}`, a: n % 5, b: (n * 17) % 60 };
  const kinds = [null, n % 2 === 0, n / 4, `text${`${n}`.padStart(2, "0")}`, -n];
  if (n % 6 < kinds.length) item.mixed = kinds[n % 6];
  return item;
}

const items = Array.from({ length: 60 }, (_, n) => make(n));
const ofKey3 = items.filter((item) => item.pk === "key3");
const scopes = [
  ["across partitions", {}, items],
  ["in one partition", { partitionKey: "key3" }, ofKey3],
];

const indexingPolicy = {
  includedPaths: [{ path: "/*" }],
  excludedPaths: [{ path: '/"_etag"/?' }],
  compositeIndexes: [
    [{ path: "/a", order: "ascending" }, { path: "/b", order: "descending" }],
    [{ path: "/a", order: "ascending" }, { path: "/b", order: "ascending" }],
  ],
};

let filled;

/** One container for all tests here, which only read. */
function rich() {
  filled ??= (async () => {
    const container = await owner.container({ indexingPolicy });
    await write(container, ...items);
    return container;
  })();
  return filled;
}

const ask = async (query, options) => (await (await rich()).items.query(query, options).fetchAll()).resources;
const names = (rows) => rows.map((row) => row.id);
const sorted = (rows, ...keys) =>
  [...rows].sort((left, right) => {
    for (const key of keys) if (key(left) !== key(right)) return key(left) < key(right) ? -1 : 1;
    return 0;
  });

/** Where `mixed` sorts: by type, then by value. */
function rank({ mixed }) {
  if (mixed === undefined) return [0, 0];
  if (mixed === null) return [1, 0];
  return [{ boolean: 2, number: 3, string: 4 }[typeof mixed], mixed];
}

for (const [where, options, rows] of scopes) {
  test(`order by one key ${where}`, async () => {
    const byB = sorted(rows, (item) => item.b);
    assert.deepEqual(names(await ask("SELECT * FROM c ORDER BY c.b", options)), names(byB));
    assert.deepEqual(names(await ask("SELECT c.id FROM c ORDER BY c.b DESC", options)), names(byB.toReversed()));
    const some = byB.filter((item) => item.n >= 20);
    assert.deepEqual(names(await ask("SELECT * FROM c WHERE c.n >= 20 ORDER BY c.b", options)), names(some));
  });

  const merges = options.partitionKey === undefined && minPartitions > 1;
  const skip = merges && "this SDK refuses keys of different types when it merges partitions";
  test(`types come before values ${where}`, { skip }, async () => {
    const expected = sorted(rows, (item) => rank(item)[0], (item) => rank(item)[1]).map(rank);
    assert.deepEqual((await ask("SELECT * FROM c ORDER BY c.mixed", options)).map(rank), expected);
    const down = await ask("SELECT * FROM c ORDER BY c.mixed DESC", options);
    assert.deepEqual(down.map(rank), expected.toReversed());
  });

  test(`order by several keys ${where}`, async () => {
    const mixed = sorted(rows, (item) => item.a, (item) => -item.b);
    assert.deepEqual(names(await ask("SELECT * FROM c ORDER BY c.a ASC, c.b DESC", options)), names(mixed));
    const reverse = names(mixed.toReversed());
    assert.deepEqual(names(await ask("SELECT * FROM c ORDER BY c.a DESC, c.b ASC", options)), reverse);
    const both = sorted(rows, (item) => item.a, (item) => item.b);
    assert.deepEqual(names(await ask("SELECT * FROM c ORDER BY c.a, c.b", options)), names(both));
  });

  test(`offset, limit and top ${where}`, async () => {
    const down = rows.map((item) => item.n).sort((left, right) => right - left);
    const cut = "SELECT VALUE c.n FROM c ORDER BY c.n DESC OFFSET 2 LIMIT 4";
    assert.deepEqual(await ask(cut, options), down.slice(2, 6));
    assert.deepEqual(await ask("SELECT TOP 5 VALUE c.n FROM c ORDER BY c.n DESC", options), down.slice(0, 5));
    assert.equal((await ask("SELECT TOP 3 * FROM c", options)).length, 3);
    assert.equal((await ask("SELECT * FROM c OFFSET 1 LIMIT 3", options)).length, 3);
  });

  test(`distinct ${where}`, async () => {
    const teams = [...new Set(rows.map((item) => item.team))].sort();
    assert.deepEqual((await ask("SELECT DISTINCT VALUE c.team FROM c", options)).sort(), teams);
    assert.deepEqual(await ask("SELECT DISTINCT VALUE c.team FROM c ORDER BY c.team", options), teams);
    const pairs = [...new Set(rows.map((item) => `${item.team} ${item.a}`))].sort();
    const found = await ask("SELECT DISTINCT c.team, c.a FROM c", options);
    assert.deepEqual(found.map((row) => `${row.team} ${row.a}`).sort(), pairs);
  });

  test(`aggregates ${where}`, async () => {
    const numbers = rows.map((item) => item.n);
    const sum = numbers.reduce((total, n) => total + n, 0);
    const expected = {
      "COUNT(1)": numbers.length,
      "SUM(c.n)": sum,
      "AVG(c.n)": sum / numbers.length,
      "MIN(c.n)": Math.min(...numbers),
      "MAX(c.n)": Math.max(...numbers),
      "COUNT(c.mixed)": rows.filter((item) => item.mixed !== undefined).length,
    };
    for (const [text, value] of Object.entries(expected)) {
      assert.deepEqual(await ask(`SELECT VALUE ${text} FROM c`, options), [value], text);
    }
    const several = await ask("SELECT COUNT(1) AS n, SUM(c.n) AS s, MAX(c.n) AS m FROM c", options);
    assert.deepEqual(several, [{ n: numbers.length, s: sum, m: Math.max(...numbers) }]);
  });

  test(`group by ${where}`, async () => {
    const teams = [...new Set(rows.map((item) => item.team))].sort();
    const expected = teams.map((team) => {
      const group = rows.filter((item) => item.team === team);
      const s = group.reduce((total, item) => total + item.n, 0);
      return { team, n: group.length, s, m: Math.max(...group.map((item) => item.b)) };
    });
    const text = "SELECT c.team, COUNT(1) AS n, SUM(c.n) AS s, MAX(c.b) AS m FROM c GROUP BY c.team";
    const found = await ask(text, options);
    assert.deepEqual(sorted(found, (row) => row.team), expected);
  });
}

test("several keys need a composite index", async () => {
  await fails(ask("SELECT * FROM c ORDER BY c.n, c.b", { partitionKey: "key3" }), 400, "composite index");
});

test("ordered pages follow each other", async () => {
  const expected = names(sorted(items, (item) => item.b));
  const container = await rich();
  const iterator = container.items.query("SELECT * FROM c ORDER BY c.b", { maxItemCount: 7 });
  const found = [];
  while (iterator.hasMoreResults()) {
    const { resources } = await iterator.fetchNext();
    assert.ok((resources ?? []).length <= 7);
    found.push(...names(resources ?? []));
  }
  assert.deepEqual(found, expected);
});

for (const [where, scope, rows] of scopes) {
  test(`ordered pages resume from their token ${where}`, async () => {
    const container = await rich();
    const found = [];
    let continuationToken;
    for (let page = 0; page < 100; page++) {
      // Across partitions the SDK hands out tokens only under query control.
      const options = { ...scope, maxItemCount: 7, enableQueryControl: true, continuationToken };
      const answer = await container.items.query("SELECT * FROM c ORDER BY c.b", options).fetchNext();
      found.push(...names(answer.resources ?? []));
      continuationToken = answer.continuationToken;
      if (!continuationToken) break;
    }
    assert.deepEqual(found, names(sorted(rows, (item) => item.b)));
  });
}

test("a prefix of a hierarchical key orders and counts", async () => {
  const partitionKey = { paths: ["/tenant", "/user", "/session"], kind: "MultiHash", version: 2 };
  const container = await owner.container({ partitionKey });
  const rows = Array.from({ length: 24 }, (_, n) => (
    { id: `${n}`.padStart(2, "0"), tenant: `t${n % 2}`, user: `u${n % 3}`, session: `s${n}`, n: (n * 7) % 24 }
  ));
  await write(container, ...rows);
  // The SDK takes whole keys only, so a prefix is written as a filter.
  for (const [filter, inside] of [
    ["c.tenant = 't1'", (item) => item.tenant === "t1"],
    ["c.tenant = 't1' AND c.user = 'u2'", (item) => item.tenant === "t1" && item.user === "u2"],
  ]) {
    const query = (text) => container.items.query(text).fetchAll();
    const { resources } = await query(`SELECT * FROM c WHERE ${filter} ORDER BY c.n`);
    assert.deepEqual(names(resources), names(sorted(rows.filter(inside), (item) => item.n)));
    const count = await query(`SELECT VALUE COUNT(1) FROM c WHERE ${filter}`);
    assert.deepEqual(count.resources, [rows.filter(inside).length]);
  }
});

test("many items are read at once", async (context) => {
  const container = await rich();
  if (typeof container.items.readMany !== "function") return context.skip("this SDK has no read-many: it reads in bulk");
  const wanted = items.filter((item) => item.n % 2 === 0);
  const { resources } = await container.items.readMany(wanted.map((item) => ({ id: item.id, partitionKey: item.pk })));
  assert.deepEqual(ids(resources), ids(wanted));
});

test("many items are read in bulk", async () => {
  const container = await rich();
  const wanted = items.slice(0, 20);
  const operations = wanted.map((item) => ({ operationType: "Read", id: item.id, partitionKey: item.pk }));
  const answers = await container.items.executeBulkOperations(operations);
  assert.deepEqual(ids(answers.map((answer) => answer.response.resourceBody)), ids(wanted));
});
