// Keys: is the data even, which key is near a limit, and where does a key live?
import { h, s, carry, int, many, dec, ru, bytes, pct, word, button, seg, panel, kv, toast, shown, rowKeys, plural } from './dom.js';
import { manage, collPath } from './api.js';
import { parse, keyText, sameKey, write, headerKey } from './json.js';
import { world, rangeAt, hex, placeOf, readOnly, hotOf } from './world.js';
import { axisFigure, axis, strip } from './strip.js';
import { lorenz, histogram } from './lorenz.js';
import { asCode, curlManage } from './code.js';
import { keyFilter } from './query.js';
import { deleteByKey } from './bulk.js';
import { link } from './shell.js';

const LIMIT_B = 20e9, LIMIT_RU = 10000, NEAR = .75;
// Limits: rows fetched at once and drawn at once; the list fetches more when its end comes into view.
const PAGE = 200, ROW_H = 27, AHEAD = 8;
const placeOfRow = (r) => r.place ?? placeOf(r.epk);
/** RU/s of a key lately, estimated from its share of what the range spent in the last minute. */
function rate(c, row) {
  const r = c.ranges.find((x) => x.id === row.range), k = r && hotOf(r, row.partitionKey), sum = r ? Math.max(r.watched || 0, r.hottest.reduce((n, x) => n + x.charge, 0)) : 0;
  return k && sum ? (k.charge / sum) * r.peak : null;
}
const limited = (value, limit, text) => h('div', { class: 'lim' }, s('svg', { width: '100%', height: 14, role: 'img', 'aria-label': `${text}, ${pct(value / limit)} of the limit` }, s('line', { class: 'limit', x1: '92%', x2: '92%', y1: 0, y2: 14 }), s('rect', { class: value / limit > NEAR ? 'bar near' : 'bar', y: 2, width: `${value ? Math.max(.4, Math.min(1, value / limit) * 92) : 0}%`, height: 10 })), h('span', {}, text));

export default function keysRoom(root, at) {
  const { c } = at, base = collPath(c.db, c.name), levels = Math.max(1, c.paths.length);
  let by = ['bytes', 'items', 'charge'].includes(at.options.get('by')) ? at.options.get('by') : 'bytes', prefix = '', rows = [], next = null, summary = null, found = carry.key || null, spot = null, loading = false, top = 0, active = 0, generation = 0;
  carry.key = null;
  const body = h('div', { class: 'vrows', role: 'rowgroup' }), list = h('div', { class: 'vlist', role: 'table', 'aria-label': 'Logical partitions', tabindex: 0 }), answer = h('div', { class: 'answer' }), even = h('div', {}), count = h('p', { class: 'dim under' }), code = h('div', {}), hierarchy = h('div', {});
  const biggest = () => [...rows].sort((a, b) => b.bytes - a.bytes).slice(0, 60);
  const fig = axisFigure({ label: 'Keys on the hash axis', height: 152, draw(ctx) {
    const y0 = 10, hh = 84, big = biggest(), floor = Math.max(1, Math.min(1e8, ...big.map((k) => k.bytes || 1)) / 2), Y = (v) => y0 + hh - (Math.max(0, Math.log10(Math.max(1, v) / floor)) / Math.log10(LIMIT_B / floor)) * hh;
    for (let v = 10 ** Math.ceil(Math.log10(floor)); v < LIMIT_B; v *= 1000) { ctx.add(s('line', { class: 'grid', x1: 0, x2: ctx.W, y1: Y(v) + .5, y2: Y(v) + .5 })); ctx.left(Y(v) + 4, bytes(v).replace('.0', ''), 'dim'); }
    const lim = Y(LIMIT_B); ctx.add(s('line', { class: 'limit', x1: 0, x2: ctx.W, y1: lim, y2: lim })); ctx.right(lim + 4, '20 GB limit');
    for (const k of big) { const x = ctx.x(placeOfRow(k)), y = Y(k.bytes), near = k.bytes / LIMIT_B > NEAR; ctx.add(s('g', { class: 'lolly', onclick: () => find(k.partitionKey) }, s('title', {}, `${shown(keyText(k.partitionKey), 60)}, ${bytes(k.bytes)}`), s('line', { class: near ? 'stem near' : 'stem', x1: x, x2: x, y1: y0 + hh, y2: y }), s('circle', { class: near ? 'head near' : 'head', cx: x, cy: y, r: near ? 4 : 2.5 }))); if (near) ctx.add(s('text', { class: 'val', x: x > ctx.W - 140 ? x - 9 : x + 9, y: y + 12, 'text-anchor': x > ctx.W - 140 ? 'end' : 'start' }, `${shown(keyText(k.partitionKey), 16)}, ${bytes(k.bytes)}`)); }
    ctx.right(y0 + hh - 18, big.length ? plural(big.length, 'big key') : 'no key', 'dim'); ctx.right(y0 + hh - 5, 'log scale', 'dim');
    const me = spot ? spot.place : null, r = me === null ? null : rangeAt(c, me);
    strip(ctx, y0 + hh + 4, 24, c.ranges, { uid: 'keys', selected: r?.id });
    ctx.left(y0 + hh + 20, 'ranges', 'dim');
    if (r) { ctx.right(y0 + hh + 20, `range ${r.id}, ${hex(me)}`, 'you'); const x = ctx.x(me); ctx.add(s('g', { class: 'pin' }, s('path', { d: `M${x} ${y0 + hh + 27}l5 7h-10z` }))); }
    axis(ctx, y0 + hh + 34);
  } });
  const known = (key) => rows.find((r) => sameKey(r.partitionKey, key));
  function drawAnswer() {
    if (!found) { answer.replaceChildren(h('p', { class: 'none' }, 'Type a value, or pick a key from the list.')); return; }
    const k = known(found), r = spot ? rangeAt(c, spot.place) : c.ranges.find((x) => x.id === k?.range), near = spot ? [...rows].filter((x) => !sameKey(x.partitionKey, found)).sort((a, b) => Math.abs(placeOfRow(a) - spot.place) - Math.abs(placeOfRow(b) - spot.place)).slice(0, 2) : [], speed = k && rate(c, k);
    answer.replaceChildren(h('p', { class: 'path' }, h('bdi', { class: 'code' }, shown(write(found.length === 1 ? found[0] : found), 80)), h('span', {}, '→'), h('code', {}, spot ? `${spot.epk.slice(0, 12)}…` : '…'), h('span', {}, '→'), h('b', {}, r ? `range ${r.id}` : '…')),
      kv([['data', k ? [h('b', { class: k.bytes / LIMIT_B > NEAR ? 'bad' : '' }, bytes(k.bytes)), ' of 20 GB'] : 'none known: no item, or not among the rows that were read'], ['items', k ? int(k.items) : '–'], ['load', speed ? `${int(speed)} RU/s in its busiest second` : 'not among the hottest'], k ? [word('LSN', 'last write'), `LSN ${int(k.lsn)}`] : null, ['as a header', h('bdi', { class: 'code' }, shown(headerKey(found), 80))], near.length ? ['neighbours', h('bdi', { class: 'code' }, near.map((x) => shown(keyText(x.partitionKey), 24)).join('  '))] : null]),
      h('div', { class: 'row' }, button('Query it', () => { carry.query = keyFilter(c, found); carry.run = true; location.hash = link(c, 'query'); }), readOnly() ? null : button('Delete by key…', () => deleteByKey(at, found, () => restart()))));
  }
  /** The server places a key: there is one hash function, and it is not here. */
  async function find(key, fromInput = false) {
    found = key; spot = null;
    if (!fromInput) fields.forEach((f, i) => f.show(key[i]));
    const row = known(key);
    if (row) spot = { epk: row.epk, place: placeOfRow(row) };
    drawAnswer(); drawRows(); fig.redraw();
    const mine = generation += 1;
    try {
      const told = await manage('POST', 'place', `{"definition":${JSON.stringify({ paths: c.definition.paths, kind: c.definition.kind, version: c.definition.version })},"keys":[${write(key)}]}`, { signal: at.signal });
      if (mine === generation) { spot = told.places[0]; drawAnswer(); fig.redraw(); }
    } catch (error) { if (error.name !== 'AbortError' && error.status !== 404 && mine === generation) toast(error.message, true); }
    if (!row && mine === generation && typeof key[0] === 'string' && key[0]) await lookUp(key, mine);
  }
  /** A key that is not among the rows: the server's list begins with its first value. */
  async function lookUp(key, mine) {
    const told = await manage('GET', `${base}/logical?by=bytes&top=50&prefix=${encodeURIComponent(key[0])}`, undefined, { signal: at.signal }).catch(() => null), row = told?.rows.find((r) => sameKey(r.partitionKey, key));
    if (row && mine === generation && !known(key)) { rows.push(row); drawAnswer(); drawList(); }
  }
  /** One level of the key: a value, null, or none at all. */
  const field = (i) => {
    let kind = 'v';
    const input = h('input', { type: 'text', 'aria-label': levels > 1 ? `Value of ${shown(c.paths[i], 40)}` : 'Key value', placeholder: c.paths[i] || 'value', spellcheck: false, oninput: () => go() });
    const kinds = seg(`Kind of value ${i + 1}`, [['v', 'text'], ['j', 'number'], ['null', 'null'], ['none', 'none']], kind, (v) => { kind = v; input.disabled = v === 'null' || v === 'none'; go(); });
    const value = () => (kind === 'null' ? null : kind === 'none' ? new Map() : kind === 'v' ? input.value : parse(input.value));
    const mark = () => kinds.querySelectorAll('button').forEach((b) => b.setAttribute('aria-checked', String(b.dataset.value === kind)));
    return { el: h('div', { class: 'finder' }, input, kinds), value, show: (v) => { kind = v === null ? 'null' : v === undefined || v instanceof Map ? 'none' : typeof v === 'string' ? 'v' : 'j'; input.disabled = kind === 'null' || kind === 'none'; input.value = kind === 'v' ? v : kind === 'j' ? write(v) : ''; mark(); } };
  };
  const fields = Array.from({ length: levels }, (_, i) => field(i));
  let later = 0;
  function go() { clearTimeout(later); later = setTimeout(() => { try { find(fields.map((f) => f.value()), true); } catch { answer.replaceChildren(h('p', { class: 'none' }, 'Not a number, true or false yet.')); } }, 120); }

  const path = (from) => `${base}/logical?by=${by}&top=${PAGE}${prefix ? `&prefix=${encodeURIComponent(prefix)}` : ''}${from ? `&from=${encodeURIComponent(from)}` : ''}`;
  async function fetchMore() {
    if (loading || (rows.length && !next)) return;
    loading = true;
    const asked = `${by} ${prefix}`;
    try {
      const told = await manage('GET', path(next), undefined, { signal: at.signal });
      if (!at.alive || asked !== `${by} ${prefix}`) return;
      rows.push(...told.rows); next = told.next; if (!summary) summary = told.summary;
      drawList(); drawEven(); fig.redraw();
      if (found && !spot) find(found);
    } catch (error) { if (error.name !== 'AbortError') toast(error.message, true); } finally { if (at.alive) loading = false; }
  }
  function restart() { rows = []; next = null; summary = null; loading = false; top = 0; list.scrollTop = 0; fetchMore(); }
  function drawList() {
    code.replaceChildren(asCode(null, curlManage('GET', path(null))));
    count.textContent = summary ? `${int(rows.length)} of ${plural(summary.logicalPartitions, 'logical partition')} read. Sizes are exact, not sampled.` : '';
    drawHierarchy(); drawRows();
  }
  /** Only what is in view is in the page: a million keys cost no more than fifty. */
  function drawRows() {
    body.style.height = `${Math.max(1, rows.length) * ROW_H}px`;
    const from = Math.max(0, Math.floor(top / ROW_H) - AHEAD), to = Math.min(rows.length, from + Math.ceil((list.clientHeight || 380) / ROW_H) + 2 * AHEAD), had = body.contains(document.activeElement) ? document.activeElement.dataset.i : null;
    body.replaceChildren(...rows.slice(from, to).map((k, j) => { const i = from + j, speed = rate(c, k); return h('div', { class: `vrow${found && sameKey(k.partitionKey, found) ? ' on' : ''}`, role: 'row', 'data-i': i, css: { top: `${i * ROW_H}px` }, ...rowKeys(() => find(k.partitionKey)), tabindex: i === active || (active < from || active >= to) && i === from ? 0 : -1, onfocus: () => { active = i; } },
      h('span', { class: 'n dim', role: 'cell' }, i + 1), h('bdi', { class: 'code', role: 'rowheader' }, shown(keyText(k.partitionKey), 60)), h('span', { class: 'n', role: 'cell' }, k.range), h('span', { class: 'n', role: 'cell' }, many(k.items)), h('span', { role: 'cell' }, limited(k.bytes, LIMIT_B, bytes(k.bytes))), h('span', { role: 'cell' }, k.charge === null ? h('span', { class: 'dim' }, 'not among the hottest') : limited(speed || 0, LIMIT_RU, speed ? `${int(speed)} RU/s` : `${ru(k.charge)} RU`)), h('span', { class: 'n dim', role: 'cell' }, int(k.lsn))); }));
    if (!rows.length) body.append(h('p', { class: 'none', role: 'row' }, h('span', { role: 'cell' }, loading || !summary ? 'Reading…' : prefix ? `No key begins with “${shown(prefix, 40)}”.` : 'No key yet: the container is empty.')));
    if (had) body.querySelector(`[data-i="${had}"]`)?.focus({ preventScroll: true });
    if (to >= rows.length - AHEAD && next) fetchMore();
  }
  function drawEven() {
    if (!summary) return;
    even.replaceChildren(lorenz(summary), h('p', { class: 'small' }, summary.logicalPartitions >= 100 ? `The biggest 1 % of keys hold ${pct(summary.topHundredthShare)} of the ${by === 'charge' ? 'load' : by}, the biggest 10 % ${pct(summary.topTenthShare)}.` : `The biggest key holds ${pct(summary.largestShare)} of the ${by === 'charge' ? 'load' : by}.`), histogram(summary, by) || '');
    gini.textContent = dec(summary.gini || 0, 2);
  }
  /** Hierarchical keys: what the first levels hold together, of the rows that were read. */
  function drawHierarchy() {
    if (levels < 2) return;
    const groups = new Map(), total = rows.reduce((n, r) => n + r.bytes, 0) || 1;
    for (const r of rows) { const k = write(r.partitionKey[0] ?? null), g = groups.get(k) || { key: r.partitionKey[0], bytes: 0, items: 0, rows: [] }; g.bytes += r.bytes; g.items += r.items; g.rows.push(r); groups.set(k, g); }
    const big = [...groups.values()].sort((a, b) => b.bytes - a.bytes).slice(0, 12); let x = 0;
    hierarchy.replaceChildren(panel('What do the levels hold?', h('span', { class: 'dim' }, `${plural(groups.size, 'value')} of ${shown(c.paths[0], 40)}`), s('svg', { class: 'icicle', width: '100%', height: 60, role: 'img', 'aria-label': `Bytes by ${shown(c.paths.join(', '), 80)}` }, big.map((g) => { const w = (g.bytes / total) * 100, x0 = x; x += w; let y = x0; return s('g', {}, s('rect', { class: 'bar', x: `${x0}%`, width: `${Math.max(.1, w - .15)}%`, height: 28 }), w > 6 ? s('text', { class: 'onbar', x: `${x0 + .6}%`, y: 18 }, shown(keyText([g.key]), Math.floor(w))) : null, g.rows.slice(0, 60).map((r) => { const v = (r.bytes / total) * 100, q = s('rect', { class: 'bar faint', x: `${y}%`, y: 30, width: `${Math.max(.05, v - .1)}%`, height: 28 }, s('title', {}, `${shown(keyText(r.partitionKey), 80)}, ${bytes(r.bytes)}`)); y += v; return q; })); })),
      h('table', { class: 'tbl' }, h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, shown(c.paths[0], 40)), ['keys', 'items', 'data'].map((t) => h('th', { class: 'n', scope: 'col' }, t)))), h('tbody', {}, big.map((g) => h('tr', {}, h('th', { scope: 'row', class: 'code' }, h('bdi', {}, shown(keyText([g.key]), 50))), h('td', { class: 'n' }, int(g.rows.length)), h('td', { class: 'n' }, many(g.items)), h('td', { class: 'n' }, bytes(g.bytes))))))));
  }
  const gini = h('b', {}, '–');
  list.append(h('div', { class: 'vrow vhead', role: 'row' }, [['#', 'n'], ['key', ''], ['range', 'n'], ['items', 'n'], ['data, of 20 GB', ''], ['load, of 10,000 RU/s', ''], ['LSN', 'n']].map(([t, k]) => h('span', { role: 'columnheader', class: k }, t))), body);
  list.addEventListener('scroll', () => { top = list.scrollTop; drawRows(); });
  let typing = 0;
  root.append(h('div', { class: 'two' }, h('div', { class: 'col' },
    panel('Where do the big keys live?', h('span', { class: 'dim' }, 'A ', word('logical partition'), ' lives whole in one range.'), fig.el),
    panel('Which key is near a limit?', h('div', { class: 'row' }, h('input', { type: 'search', 'data-filter': true, placeholder: 'begins with  /', 'aria-label': 'Keys that begin with', oninput: (e) => { prefix = e.target.value; clearTimeout(typing); typing = setTimeout(restart, 200); } }), seg('Order', [['bytes', 'by data'], ['charge', 'by RU'], ['items', 'by items']], by, (v) => { by = v; at.remember({ by }); restart(); })), list, count, code), hierarchy),
  h('aside', { class: 'col side', 'aria-label': 'Finder' }, panel('Where does this key live?', null, fields.map((f) => f.el), answer), panel('Is the data even?', h('span', {}, word('Gini'), ' ', gini), even))));
  drawAnswer(); fetchMore();
  if (found) fields.forEach((f, i) => f.show(found[i]));
  world.listeners.add(() => fig.redraw());
}
