// Create a container: paste items, choose the key, see where they would live before deciding.
import { h, s, button, dialog, toast, say, shown, int, seg } from './dom.js';
import { call, manage, enc } from './api.js';
import { parse, Num, write, keyText, JsonError } from './json.js';
import { world, reload, RANGE_RU_MAX } from './world.js';
import { last } from './shell.js';
import { asCode, curlWire } from './code.js';
import { axisFigure, axis } from './strip.js';
import { paintJson } from './sql.js';

const SAMPLE = '{\n  "id": "o-48213",\n  "customer": "c-1731",\n  "city": "Bern",\n  "status": "open",\n  "placed": "2026-11-17",\n  "total": 121.50\n}';
// Limit: values whose hash is asked for, of one property.
const VALUES_MAX = 400;

/** One item, an array of items, or one a line. */
function itemsOf(text) {
  try { const v = parse(text); return Array.isArray(v) ? v : [v]; } catch (error) {
    const lines = text.split('\n').filter((l) => l.trim());
    if (lines.length < 2 || !lines[0].trim().endsWith('}')) throw error;
    return lines.map((l) => parse(l));
  }
}
/** Properties that could be keys, one level of nesting deep, with their distinct values. */
function properties(items) {
  const found = new Map();
  const add = (path, v) => { if (v instanceof Map || Array.isArray(v)) return; if (!found.has(path)) found.set(path, new Map()); found.get(path).set(write(v), v); };
  for (const item of items) if (item instanceof Map) for (const [k, v] of item) {
    const name = /^[A-Za-z_]\w*$/.test(k) ? k : JSON.stringify(k);
    add(`/${name}`, v);
    if (v instanceof Map) for (const [k2, v2] of v) add(`/${name}/${/^[A-Za-z_]\w*$/.test(k2) ? k2 : JSON.stringify(k2)}`, v2);
  }
  return found;
}
/** What the pasted values say of a property as a key: measured when there are many items, by kind when there are few. */
function judge(path, values, n) {
  const all = [...values.values()];
  if (all.every((v) => typeof v === 'boolean' || v === null)) return ['two values', 'Two logical partitions at most. Never a key.'];
  if (path === '/id') return ['different in every item', 'Even, but every query without the id asks all ranges.'];
  if (n >= 8 && values.size <= Math.max(2, n / 20)) return [`${values.size} values in ${n} items`, 'Few values: each becomes a large logical partition, and a busy one cannot be split.'];
  if (all.every((v) => v instanceof Num && /[.eE]/.test(v.text))) return [`${values.size} in ${n}`, 'A measure: nobody asks for an exact one.'];
  if (all.every((v) => typeof v === 'string' && /^\d{4}-\d\d-\d\d/.test(v))) return [`${values.size} in ${n}`, 'Time: all writes of a day, or of a moment, go to one range.'];
  if (n >= 8 && values.size === n) return ['different in every item', 'Even. Queries by it ask one range; there are no groups to read together.'];
  return [`${values.size} value${values.size === 1 ? '' : 's'} in ${n} item${n === 1 ? '' : 's'}`, n < 8 ? 'Paste more items, as an array or one a line, to see how the values spread.' : 'Several items share a value: reads and writes of one value stay together.'];
}

export function create() {
  let text = SAMPLE, chosen = ['/customer'], places = [], found = new Map(), n = 0, asked = 0, ru = 400;
  const ink = h('pre', { class: 'ink', 'aria-hidden': 'true' }), area = h('textarea', { class: 'src', 'aria-label': 'Items as JSON', spellcheck: false, value: text });
  const list = h('div', { class: 'props', role: 'group', 'aria-label': 'Partition key' }), verdict = h('p', { class: 'verdict', role: 'status' }), code = h('div', {}), wrong = h('p', { class: 'bad', role: 'alert' });
  const db = h('input', { type: 'text', value: last()?.db || world.databases[0] || 'shop', required: true, list: 'dbs' }), name = h('input', { type: 'text', value: '' }), rate = h('input', { type: 'text', class: 'short', value: '400', inputmode: 'numeric' });
  let kind = 'manual';
  const ranges = () => Math.max(1, Math.ceil(ru / RANGE_RU_MAX));
  const fig = axisFigure({ label: 'Where these items would live', height: 58, draw(ctx) {
    const count = ranges();
    for (let i = 0; i < count; i++) { const x = ctx.x(i / count) + .5, w = ctx.x((i + 1) / count) - ctx.x(i / count) - 1, here = places.filter((p) => Math.min(count - 1, Math.floor(p.place * count)) === i).length; ctx.add(s('rect', { class: here ? 'lit' : 'unlit', x, y: 8, width: w, height: 24 })); if (w > 24) ctx.add(s('text', { class: here ? 'oninlit' : 'dim', x: x + 7, y: 24 }, here && places.length > 1 ? `${i}: ${here}` : i)); }
    for (const p of places.slice(0, 200)) { const x = ctx.x(p.place); ctx.add(s('g', { class: 'pin' }, s('path', { d: `M${x} 31l4 6h-8z` }))); }
    if (places.length === 1) ctx.right(24, `${places[0].epk.slice(0, 8)}…`, 'you'); else if (places.length) ctx.right(24, `${int(places.length)} keys`, 'you');
    ctx.left(24, 'ranges', 'dim'); axis(ctx, 36);
  } });
  /** The server hashes: no second hash function is kept here. */
  async function hashes() {
    const mine = asked += 1, paths = chosen.filter((p) => found.has(p));
    if (!paths.length) { places = []; fig.redraw(); return; }
    const columns = paths.map((p) => [...found.get(p).values()].slice(0, VALUES_MAX)), keys = columns[0].map((v, i) => columns.map((c, k) => (k ? c[Math.min(i, c.length - 1)] : v)));
    try {
      const body = `{"definition":${JSON.stringify(definition(paths))},"keys":[${keys.map(write).join(',')}]}`;
      const answer = await manage('POST', 'place', body);
      if (mine === asked) { places = answer.places; fig.redraw(); showHashes(); }
    } catch (error) { if (mine === asked) { places = []; fig.redraw(); if (error.status !== 404) wrong.textContent = shown(error.message); } }
  }
  const showHashes = () => { const cell = list.querySelector('[aria-checked="true"] .hash'); if (cell && places[0]) cell.textContent = `${places[0].epk.slice(0, 8)}…`; };
  const definition = (paths) => ({ paths, kind: paths.length > 1 ? 'MultiHash' : 'Hash', version: 2 });
  const request = () => ({ id: name.value.trim(), partitionKey: definition(chosen) });
  const headers = () => ({ 'content-type': 'application/json', ...(ru ? (kind === 'manual' ? { 'x-ms-offer-throughput': String(ru) } : { 'x-ms-cosmos-offer-autopilot-settings': JSON.stringify({ maxThroughput: ru }) }) : {}) });
  function pick(path, more) {
    if (more) { chosen = chosen.includes(path) ? chosen.filter((p) => p !== path) : [...chosen, path].slice(0, 3); if (!chosen.length) chosen = [path]; } else chosen = [path];
    draw(); [...list.querySelectorAll('button')].find((b) => b.dataset.path === path)?.focus();
  }
  function draw() {
    wrong.textContent = '';
    ink.replaceChildren(...paintJson(`${text}\n`));
    try { const items = itemsOf(text); n = items.length; found = properties(items); if (!found.size) throw new Error('These items have no property that could be a key.'); } catch (error) {
      found = new Map();
      verdict.textContent = error instanceof JsonError ? `${error.message}. The last comma is the usual suspect.` : shown(error.message);
    }
    chosen = chosen.filter((p) => found.has(p));
    if (!chosen.length && found.size) chosen = [[...found.keys()].find((p) => p !== '/id') || [...found.keys()][0]];
    list.replaceChildren(...[...found].map(([path, values]) => h('div', {}, h('button', { type: 'button', role: 'checkbox', 'data-path': path, 'aria-checked': String(chosen.includes(path)), onclick: (e) => pick(path, e.shiftKey || e.ctrlKey) },
      h('span', { class: 'code strong' }, shown(path, 40), chosen.length > 1 && chosen.includes(path) ? ` ${chosen.indexOf(path) + 1}` : ''), h('span', { class: 'code dim hash' }, ''), h('span', { class: 'dim' }, judge(path, values, n)[0], ', such as ', h('bdi', { class: 'code' }, shown(keyText([[...values.values()][0]]), 24)))))));
    if (found.size) verdict.textContent = chosen.length > 1 ? `Hierarchical: ${chosen.join(', then ')}. Queries by the first level ask few ranges; one value of it may grow beyond a range.` : judge(chosen[0], found.get(chosen[0]), n)[1];
    code.replaceChildren(asCode(null, curlWire('POST', `dbs/${enc(db.value)}/colls`, request(), headers())));
    hashes(); fig.redraw();
  }
  const makeNow = async () => {
    wrong.textContent = '';
    const d = db.value.trim(), c = name.value.trim();
    if (!d) { wrong.textContent = 'The database needs a name.'; db.focus(); return; }
    try {
      await call('POST', 'dbs', { body: { id: d }, headers: { 'content-type': 'application/json' } }).catch((e) => { if (e.status !== 409) throw e; });
      if (c) await call('POST', `dbs/${enc(d)}/colls`, { body: request(), headers: headers() });
      box.close(); await reload();
      toast(c ? `Created ${d}/${c} with key ${chosen.join(', ')}.` : `Database ${d} is there.`);
      if (c) location.hash = `#/${enc(d)}/${enc(c)}/map`;
    } catch (error) { wrong.textContent = shown(error.message, 300); }
  };
  const box = dialog('makebox', 'Create container', h('h2', { class: 'title' }, 'Which property is the key?'),
    h('div', { class: 'createrow' }, h('div', {}, h('h3', {}, 'One or more of your items'), h('div', { class: 'editor' }, ink, area)), h('div', {}, h('h3', {}, 'Its properties, and what they would be as keys (Shift adds a level)'), list)),
    fig.el, verdict, code,
    h('footer', { class: 'row' }, h('label', {}, 'database ', db), h('datalist', { id: 'dbs' }, world.databases.map((d) => h('option', { value: d }))), h('label', {}, 'container ', name), h('label', {}, 'RU/s ', rate), seg('Throughput', [['manual', 'manual'], ['auto', 'autoscale']], kind, (v) => { kind = v; draw(); }),
      h('span', { class: 'grow' }), button('Cancel', () => box.close()), button('Create', makeNow, { kind: 'primary' })), wrong);
  if (!box) return;
  area.addEventListener('input', () => { text = area.value; draw(); });
  for (const field of [db, name]) field.addEventListener('input', () => draw());
  rate.addEventListener('input', () => { ru = Math.max(0, Math.min(1e6, Number(rate.value) || 0)); draw(); });
  draw(); name.focus(); say('Choose the property that is the partition key. Without a name for the container, only the database is made.');
}
