// The account as the page knows it: read once, then kept up by one stream of events. Pictures ask here and never the server.
//
// Invariant: pausing freezes what is shown, not what is kept, except the seconds, which are read again on going on.
import { manage, feed, events, enc } from './api.js';
import { sameKey } from './json.js';

/** What a range can use at most, whatever is provisioned: the scale where nobody provisioned anything. */
export const RANGE_RU_MAX = 10000;
const RETRY_MS = [1000, 2000, 4000, 8000];

export const world = {
  info: { enforcement: null, partitionBytes: null, version: '' }, session: null, databases: [], containers: [], relocations: [], marks: [],
  paused: false, state: 'loading', lostAt: 0, error: null, heardAt: 0,
  listeners: new Set(), // told each second
  layouts: new Set(), // told when containers, ranges or relocations change
  throttles: new Set(),
};
export const readOnly = () => Boolean(world.session?.readOnly);
export const container = (db, coll) => world.containers.find((c) => c.db === db && c.name === coll);
const tell = (set, ...rest) => { for (const fn of [...set]) fn(...rest); };

/** What is derived from the facts of a range: its load is the busiest second of the last minute over its budget. */
function settle(c) {
  for (const r of c.ranges) {
    r.budget = r.provisioned;
    const scale = r.budget || RANGE_RU_MAX;
    r.peak = Math.max(0, ...r.seconds);
    r.load = r.peak / scale;
    r.refused = r.refusals.reduce((a, b) => a + b, 0);
  }
  c.items = c.ranges.reduce((n, r) => n + r.items, 0);
  c.bytes = c.ranges.reduce((n, r) => n + r.bytes, 0);
  c.peak = Math.max(0, ...c.ranges.map((r) => r.load));
  c.refused = c.ranges.reduce((n, r) => n + r.refused, 0);
  c.used = c.ranges.reduce((n, r) => n + (r.seconds.at(-1) || 0), 0);
  c.hasBudget = c.provisioned !== null;
}

/** One range as the server tells it; what the stream has counted since is taken along. */
function range(told, before) {
  const seconds = told.seconds?.length ? told.seconds.slice(-60) : Array(60).fill(0);
  while (seconds.length < 60) seconds.unshift(0);
  return { ...told, lo: told.from, hi: told.to, provisioned: told.provisioned ?? null, seconds, last: before?.last || null, left: told.left ?? before?.left ?? null,
    refusals: before?.refusals || Array(59).fill(0).concat(told.minutes?.at(-1)?.throttled || 0), hottest: told.hottest || [], born: before ? before.born : 0, watched: told.watched || 0 };
}
function adopt(told) {
  let c = container(told.database, told.container);
  if (!c) { c = { db: told.database, name: told.container, id: `${told.database}/${told.container}`, ranges: [], retired: new Map(), definition: null, key: '' }; world.containers.push(c); }
  const known = new Map(c.ranges.map((r) => [r.id, r])), fresh = known.size > 0;
  for (const r of c.ranges) c.retired.set(r.id, { id: r.id, lo: r.lo, hi: r.hi, parents: r.parents });
  c.ranges = told.ranges.map((r) => range(r, known.get(r.id))).sort((a, b) => a.lo - b.lo);
  for (const r of c.ranges) { c.retired.delete(r.id); if (fresh && !known.has(r.id)) r.born = performance.now(); }
  for (const r of told.retired || []) c.retired.set(r.id, { ...r, lo: r.from, hi: r.to });
  c.provisioned = told.provisioned; c.isShared = told.isShared;
  settle(c);
  return c;
}

/** Definitions come from the protocol itself: key paths, policies. */
async function describe() {
  const databases = (await feed('dbs', 'Databases')).map((d) => d.id);
  const found = await Promise.all(databases.map(async (db) => [db, await feed(`dbs/${enc(db)}/colls`, 'DocumentCollections').catch(() => [])]));
  world.databases = databases;
  for (const [db, list] of found) for (const doc of list) { const c = container(db, doc.id); if (c) define(c, doc); }
}
export function define(c, doc) {
  c.doc = doc; c.rid = doc._rid; c.definition = doc.partitionKey || { paths: [], kind: 'Hash', version: 1 };
  c.paths = c.definition.paths || []; c.key = c.paths.join(', ') || 'none';
}

export async function reload() {
  const [all, root, moves] = await Promise.all([manage('GET', 'ranges'), manage('GET', ''), manage('GET', 'relocations')]);
  const names = new Set(all.containers.map((c) => `${c.database}/${c.container}`));
  world.containers = world.containers.filter((c) => names.has(c.id));
  all.containers.forEach(adopt);
  world.containers.sort((a, b) => (a.id < b.id ? -1 : 1));
  world.relocations = moves.relocations;
  world.info = { ...world.info, ...root };
  await describe();
  world.state = 'ready'; world.error = null;
  tell(world.layouts);
}
/** Ranges of one container again, after a change or because their keys are looked at. */
export async function refresh(c) {
  const path = `dbs/${enc(c.db)}/colls/${enc(c.name)}/ranges`;
  adopt(await manage('GET', path));
  tell(world.layouts, c);
}

function second(data) {
  const used = new Map(data.containers.map((c) => [`${c.database}/${c.container}`, new Map(c.ranges.map((r) => [r.id, r]))]));
  for (const c of world.containers) {
    const ranges = used.get(c.id);
    for (const r of c.ranges) {
      const u = ranges?.get(r.id);
      r.last = u || null;
      r.seconds.push(u ? u.read + u.write : 0); r.refusals.push(u ? u.throttled : 0);
      if (r.seconds.length > 60) r.seconds.shift();
      if (r.refusals.length > 60) r.refusals.shift();
      if (u) { r.items = u.items; r.bytes = u.bytes; if (u.left !== undefined) r.left = u.left; } else if (r.budget) r.left = Math.min(r.budget, (r.left ?? r.budget) + r.budget);
    }
    settle(c);
  }
  world.atMs = data.atMs;
}
let again = 0;
const soon = () => { clearTimeout(again); again = setTimeout(() => reload().catch(() => {}), 250); };

function heard(name, data) {
  world.heardAt = Date.now();
  if (name === 'open') { world.state = 'ready'; tell(world.layouts); return; }
  if (name === 'layout' || name === 'missed') soon();
  if (name === 'relocation') {
    const i = world.relocations.findIndex((r) => r.id === data.id);
    if (i < 0) world.relocations.push(data); else { data.prev = world.relocations[i].progress; world.relocations[i] = data; }
    if (!world.paused) tell(world.layouts);
  }
  if (name === 'throttle') for (const fn of [...world.throttles]) fn(data);
  if (name === 'second') {
    // relocations are told when they change only: without news there was no progress
    for (const r of world.relocations) if (!r.end) r.prev = r.shownProgress ?? r.progress;
    second(data);
    if (!world.paused) tell(world.listeners);
  }
}
/** Keeps the stream open for as long as the page lives. */
export async function listen() {
  for (let attempt = 0; ; attempt += 1) {
    const stop = new AbortController();
    // Limit: a stream that says nothing for that long is dead; the server speaks each second.
    const watch = setInterval(() => { if (Date.now() - world.heardAt > 15000) stop.abort(); }, 5000);
    world.heardAt = Date.now();
    try {
      await events('_orrery/events', stop.signal, (name, data) => { attempt = 0; heard(name, data); });
    } catch (error) { world.error = error; if (error.status === 401) { clearInterval(watch); return; } }
    clearInterval(watch);
    if (world.state !== 'lost') { world.state = 'lost'; world.lostAt = Date.now(); tell(world.layouts); }
    await new Promise((done) => { setTimeout(done, RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)]); });
    try { await reload(); } catch (error) { world.error = error; if (error.status === 401) return; tell(world.layouts); }
  }
}
export const jobsOf = (c) => world.relocations.filter((r) => r.container === c.id || r.container === `dbs/${c.db}/colls/${c.name}` || r.container === c.rid);
export const rangeAt = (c, place) => c.ranges.find((r) => place < r.hi) || c.ranges.at(-1);
export const hotOf = (r, key) => r.hottest.find((k) => sameKey(k.partitionKey, key));

/** A position 0…1 on the hash axis as hexadecimal, 00 to 3F for hashes of version 2 (their two upper bits are 0). */
export function hex(place, digits = 4) {
  let out = '', rest = Math.min(Math.max(place, 0), 1) * 64;
  for (let i = 0; i < digits / 2; i++) { const b = Math.floor(rest); out += b.toString(16).toUpperCase().padStart(2, '0'); rest = (rest - b) * 256; }
  return place >= 1 ? '3F'.padEnd(digits, 'F') : out;
}
/** The place of a hash of version 2 (or of several levels: the first decides). */
export const placeOf = (epk) => { let v = 0; for (let i = 0; i < 13 && i * 2 < epk.length; i++) v += parseInt(epk.slice(i * 2, i * 2 + 2), 16) / 64 / 256 ** i; return Math.min(1, v); };
