// Live: who is refused now and why, what changes, what is asked?
import { h, int, dec, clock, word, seg, panel, shown, plural, meter, pct } from './dom.js';
import { events, collPath } from './api.js';
import { world } from './world.js';
import { parse, Num, SYSTEM, keyOf, keyText, write } from './json.js';
import { walk } from './strip.js';
import { gauges } from './gauges.js';
import { Feed } from './feed.js';
import { lab } from './lab.js';
import { keyLink } from './palette.js';
import { asCode, curlManage, curlWire } from './code.js';

// Limits: rows kept of each tail; the refused of the last minute by key; what is shown of a change.
const KEPT_MAX = 500, DRAWN_MAX = 100, PARTS_MAX = 6;
const MARK = { create: '+', delete: '−', replace: '~', patch: '~', write: '~' };

/** Which properties differ, as text: was → is. */
function changes(row) {
  const { item, before } = row, names = [...new Set([...(before ? before.keys() : []), ...(item ? item.keys() : [])])].filter((k) => !SYSTEM.has(k)), show = (v) => (v === undefined ? '' : v instanceof Num ? v.text : typeof v === 'string' ? shown(v, 40) : shown(write(v), 40));
  const changed = item && before ? names.filter((k) => write(item.get(k) ?? null) !== write(before.get(k) ?? null) || item.has(k) !== before.has(k)) : names.filter((k) => k !== 'id');
  if (item && before && !changed.length) return [h('span', { class: 'dim' }, 'the same content')];
  return changed.slice(0, PARTS_MAX).map((k) => h('span', { class: 'part' }, h('bdi', { class: 'dim' }, shown(k, 24), ' '), before && item ? [h('del', {}, h('bdi', {}, show(before.get(k)))), ' ', h('ins', {}, h('bdi', {}, show(item.get(k))))] : !item ? h('del', {}, h('bdi', {}, show(before?.get(k)))) : h('bdi', {}, show(item.get(k))), '  ')).concat(changed.length > PARTS_MAX ? [h('span', { class: 'dim' }, `and ${changed.length - PARTS_MAX} more`)] : []);
}

export default function live(root, at) {
  const { c } = at;
  let tail = at.options.get('tail') === 'requests' ? 'requests' : 'feed', range = null, filter = '', from = 'now', feedRows = [], requests = [], feed = null, keepsAll = Number(c.doc?.changeFeedPolicy?.retentionDuration ?? 0) > 0, missed = 0, failed = '', asking = null;
  const refused = new Map(); // key text → {key, n, at}
  const box = h('div', { class: 'tailbox', role: 'log', 'aria-live': 'off', tabindex: 0, 'aria-label': 'Tail' }), note = h('p', { class: 'dim under' }), who = h('div', {}), code = h('div', {});
  const pick = (id) => { range = range === id ? null : id; fig.redraw(); drawTail(); };
  const fig = gauges(c, { selected: () => range, pick });
  walk(fig.el, () => c.ranges, () => range ?? c.ranges[0]?.id, (id) => { range = id; fig.redraw(); drawTail(); });
  fig.el.addEventListener('keydown', (e) => { if (e.key === 'Escape' && range !== null) { range = null; fig.redraw(); drawTail(); } });
  const match = (r) => (range === null || r.range === range) && (!filter || `${r.key} ${r.id ?? ''}`.toLowerCase().includes(filter.toLowerCase()));
  function drawTail() {
    const list = (tail === 'feed' ? feedRows : requests).filter(match).slice(-DRAWN_MAX).reverse(), heads = tail === 'feed' ? ['time', 'range', 'LSN', 'change', 'key', 'id', 'what changed'] : ['time', 'range', 'operation', 'key', 'status', 'charge', 'took'];
    box.replaceChildren(h('table', { class: 'tbl' }, h('thead', {}, h('tr', {}, heads.map((t) => h('th', { scope: 'col', class: ['range', 'LSN', 'charge', 'took'].includes(t) ? 'n' : '' }, t)))),
      h('tbody', {}, list.map((r) => (tail === 'feed' ? h('tr', {}, h('td', { class: 'dim' }, r.ts ? clock(r.ts, true) : '–'), h('td', { class: 'n' }, r.range), h('td', { class: 'n dim' }, int(r.lsn)), h('td', {}, h('span', { class: `opmark ${r.op}`, 'aria-hidden': 'true' }, MARK[r.op] || '~'), ` ${r.op}`), h('td', { class: 'code' }, h('bdi', {}, shown(r.key, 40))), h('td', { class: 'code' }, h('bdi', {}, shown(r.id, 40))), h('td', { class: 'what' }, changes(r)))
        : h('tr', { class: r.status === 429 ? 'hotrow' : '' }, h('td', { class: 'dim' }, clock(r.atMs, true)), h('td', { class: 'n' }, r.range === null || r.range === undefined ? '–' : r.range), h('td', {}, shown(r.operation, 30)), h('td', { class: 'code' }, h('bdi', {}, shown(r.key, 40))), h('td', {}, r.status >= 400 ? h('b', { class: r.status === 429 ? 'bad' : '' }, r.status) : r.status), h('td', { class: 'n' }, `${dec(r.charge ?? 0, 2)} RU`), h('td', { class: 'n' }, `${dec(r.ms ?? 0, 1)} ms`)))))));
    if (!list.length) box.append(h('p', { class: 'none' }, failed || (tail === 'feed' ? `Nothing changed${range === null ? '' : ` in range ${range}`} yet.` : `No request${range === null ? '' : ` to range ${range}`} yet.`)));
    note.textContent = tail === 'feed' ? (keepsAll ? 'All versions, with the image before a delete where it is kept; other changes beside what was seen here before.' : 'Latest versions: set a change feed policy to see deletes and images before. Changes stand beside what was seen here before.') : `Of ${c.id}, at most 200 a second${missed ? `; ${plural(missed, 'request')} were not shown` : ''}.`;
    code.replaceChildren(tail === 'feed' ? asCode(null, curlWire('GET', `${collPath(c.db, c.name)}/docs`, undefined, { 'a-im': 'Incremental feed', 'x-ms-documentdb-partitionkeyrangeid': range ?? c.ranges[0]?.id ?? '0', ...(from === 'now' ? { 'if-none-match': '*' } : {}) })) : asCode(null, curlManage('GET', 'events?requests=1')));
  }
  function drawWho() {
    const now = Date.now();
    for (const [k, r] of refused) { r.list = r.list.filter((x) => now - x.at < 60000); if (!r.list.length) refused.delete(k); }
    const list = [...refused.values()].map((r) => ({ ...r, n: r.list.reduce((s, x) => s + x.n, 0) })).sort((a, b) => b.n - a.n), all = list.reduce((s, r) => s + r.n, 0);
    who.replaceChildren(list.length ? h('ol', { class: 'hot' }, list.slice(0, 8).map((r) => h('li', {}, r.key ? keyLink(c, r.key) : h('span', { class: 'dim' }, `range ${r.range}`), meter(r.n / all, 'hotfill'), h('span', {}, int(r.n))))) : h('p', { class: 'none' }, world.info.enforcement === 'off' ? 'Nobody: throughput is not enforced here. The lab below changes that.' : 'Nobody.'), list.length ? h('p', { class: 'small dim' }, `The key that used most of the range when it refused. ${pct(list[0].n / all)} of the refusals are of the first.`) : '');
  }
  function begin() {
    feedRows = []; failed = '';
    feed = new Feed(c, { from: from === 'start' ? 'start' : 'now', signal: at.signal, mode: keepsAll && from === 'now' ? 'all' : 'latest' });
    drawTail();
  }
  async function poll() {
    if (asking || world.paused || tail !== 'feed' || document.visibilityState !== 'visible') return;
    const mine = feed;
    asking = mine;
    try {
      const list = await mine.poll();
      if (mine === feed && list.length) { for (const r of list) r.key = r.item || r.before ? keyText(keyOf(r.item || r.before, c.paths)) : r.meta?.get('partitionKey') instanceof Map ? keyText([...r.meta.get('partitionKey').values()]) : '–'; feedRows.push(...list); feedRows = feedRows.slice(-KEPT_MAX); if (!box.matches(':hover, :focus')) drawTail(); }
    } catch (error) {
      if (error.name !== 'AbortError' && mine === feed) { if (mine.mode === 'all') { keepsAll = false; begin(); } else { failed = shown(error.message, 200); drawTail(); } }
    }
    asking = null;
  }
  /** The tail of requests is made by the server only while somebody listens to it. */
  let stream = null;
  function tailRequests() {
    stream?.abort(); stream = null;
    if (tail !== 'requests') return;
    const mine = stream = new AbortController();
    at.signal.addEventListener('abort', () => mine.abort());
    events('_orrery/events?requests=1', mine.signal, (name, told) => {
      if (name !== 'requests' || world.paused) return;
      missed += told.missed || 0;
      // the page's own questions would fill the tail
      for (const r of told.requests) if (r.database === c.db && r.container === c.name && !r.isExplorer) { let k = '–'; if (r.partitionKey) try { k = keyText(parse(r.partitionKey)); } catch { k = r.partitionKey; } requests.push({ ...r, key: k }); }
      requests = requests.slice(-KEPT_MAX);
      if (!box.matches(':hover, :focus')) drawTail();
    }).catch((error) => { if (error.name !== 'AbortError') { failed = shown(error.message, 200); drawTail(); } });
  }
  const tools = lab(at);
  root.append(h('div', { class: 'two' }, h('div', { class: 'col' },
    panel('Who is refused now, and why?', h('span', { class: 'dim' }, 'Each range has one second of its ', word('budget'), '. Below zero it is in ', word('debt'), '.'), fig.el),
    panel('What changes?', h('div', { class: 'row' }, h('input', { type: 'search', 'data-filter': true, placeholder: 'key or id  /', 'aria-label': 'Filter by key or id', oninput: (e) => { filter = e.target.value; drawTail(); } }), seg('From', [['now', 'from now'], ['start', 'from the beginning']], from, (v) => { from = v; begin(); poll(); }), seg('Tail', [['feed', 'change feed'], ['requests', 'requests']], tail, (v) => { tail = v; at.remember({ tail: v === 'feed' ? null : v }); failed = ''; drawTail(); tailRequests(); poll(); })), box, note, code)),
  h('aside', { class: 'col side', 'aria-label': 'Refused, lab' }, panel('Refused in the last minute', null, who), tools.el)));
  begin(); drawWho(); poll(); tailRequests();
  const timer = setInterval(poll, 1000);
  world.listeners.add(() => { fig.redraw(); if (!who.contains(document.activeElement)) drawWho(); });
  world.throttles.add((told) => {
    if (told.database !== c.db || told.container !== c.name) return;
    for (const r of told.ranges) { const k = r.hottest ? keyText(r.hottest) : `range ${r.id}`, e = refused.get(k) || { key: r.hottest, range: r.id, list: [] }; e.list.push({ at: Date.now(), n: r.throttled }); refused.set(k, e); }
  });
  world.layouts.add(() => { if (at.alive) fig.redraw(); });
  return () => { clearInterval(timer); stream?.abort(); };
}
