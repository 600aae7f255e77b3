// Overview: which container needs me, how do I connect, what should I look at?
import { h, int, many, bytes, pct, button, seg, panel, copy, shown, when } from './dom.js';
import { world, readOnly } from './world.js';
import { link, last } from './shell.js';
import { endpoint } from './api.js';
import { create } from './create.js';
import { loadSample } from './sample.js';
import { mini, legend } from './strip.js';
import { SDK, connectCode } from './connect.js';
import { advise } from './advise.js';

const COLUMNS = [['name', 'container'], ['key', 'partition key'], ['items', 'items', 'n'], ['bytes', 'data', 'n'], ['ranges', 'ranges', 'n'], ['throughput', 'RU/s', 'n'], ['strip', 'load on the hash axis'], ['peak', 'busiest', 'n'], ['refused', '429s', 'n']];
// Limit: rows that are drawn; the filter finds the others.
const ROWS_MAX = 200;
const WELL_KNOWN = 'C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==';
/** What a finished relocation did, in words. */
export const told = (r) => `${{ split: 'split', merge: 'merge', move: 'move' }[r.kind] || r.kind} ${r.sources.join(' + ')}${r.targets.length ? ` → ${r.targets.join(' + ')}` : ''}, by ${r.reason}${r.end === 'failed' ? ', failed' : r.end ? '' : `: ${r.step}`}`;

export default function overview(root, at) {
  let sort = at.options.get('sort') || 'peak', down = at.options.get('up') === null, filter = '';
  const body = h('tbody'), head = h('tr'), advice = h('ul', { class: 'advice' }), log = h('ul', { class: 'log' });
  const value = (c) => ({ name: c.id, key: c.key, ranges: c.ranges.length, throughput: c.provisioned ?? -1 }[sort] ?? c[sort]);
  let rows = [], drawn = null;
  /** A row whose figures are renewed in place: what somebody is about to click stays. */
  function tableRow(c, notes) {
    const cells = [[() => many(c.items)], [() => bytes(c.bytes)], [() => int(c.ranges.length)], [() => (c.hasBudget ? `${int(c.provisioned)}${c.isShared ? ' *' : ''}` : '–')], [() => pct(c.peak), () => c.hasBudget && c.peak >= 1], [() => (c.refused ? int(c.refused) : '–'), () => c.refused > 0]].map(([read, bad]) => { const td = h('td', { class: 'n' }); return { td, tick: () => { const text = read(); if (td.textContent !== text) td.textContent = text; td.classList.toggle('bad', Boolean(bad?.())); } }; });
    const strip = h('td', { class: 'stripcell' }), tick = () => { for (const x of cells) x.tick(); strip.replaceChildren(mini(c.ranges, 16)); };
    tick();
    return { tick, el: h('tr', {}, h('th', { scope: 'row' }, h('span', { class: 'dim' }, `${shown(c.db, 40)} / `), h('a', { class: 'strong', href: link(c, 'map') }, shown(c.name, 60)), notes ? h('span', { class: 'flag', title: `${notes} advisories` }, notes) : null), h('td', { class: 'code' }, shown(c.key, 60)), cells.slice(0, 4).map((x) => x.td), strip, cells.slice(4).map((x) => x.td)) };
  }
  let headDrawn = '';
  function drawTable() {
    if (headDrawn !== `${sort}${down}`) head.replaceChildren(...COLUMNS.map(([id, text, n]) => h('th', { class: n ? 'n' : '', scope: 'col', 'aria-sort': sort === id ? (down ? 'descending' : 'ascending') : null },
      id === 'strip' ? text : h('button', { type: 'button', class: 'sort', 'data-sort': id, onclick: () => { down = sort === id ? !down : id !== 'name' && id !== 'key'; sort = id; at.remember({ sort, up: down ? null : 1 }); drawTable(); head.querySelector(`[data-sort="${id}"]`).focus(); } }, text, sort === id ? (down ? ' ↓' : ' ↑') : ''))));
    headDrawn = `${sort}${down}`;
    const found = world.containers.filter((c) => `${c.id} ${c.key}`.toLowerCase().includes(filter.toLowerCase())).sort((a, b) => { const x = value(a), y = value(b); return ((x > y ? 1 : x < y ? -1 : 0) * (down ? -1 : 1)) || (a.id < b.id ? -1 : 1); });
    const notes = new Map(); for (const a of all) if (a.level > 0) notes.set(a.c, (notes.get(a.c) || 0) + 1);
    const shape = found.slice(0, ROWS_MAX).map((c) => `${c.id}|${c.ranges.length}|${notes.get(c) || 0}|${c.key}`).join('\n') + filter + found.length;
    if (shape === drawn) { for (const r of rows) r.tick(); return; }
    drawn = shape;
    rows = found.slice(0, ROWS_MAX).map((c) => tableRow(c, notes.get(c)));
    body.replaceChildren(...rows.map((r) => r.el));
    if (!found.length) body.append(h('tr', {}, h('td', { colspan: 9, class: 'none' }, `No container has “${shown(filter)}” in its name or key.`)));
    if (found.length > ROWS_MAX) body.append(h('tr', {}, h('td', { colspan: 9, class: 'none' }, `${int(found.length - ROWS_MAX)} more: filter by name.`)));
  }
  let all = [];
  let sideDrawn = '';
  function drawSide() {
    all = advise(world.containers, world.info);
    const signature = JSON.stringify([all.map((a) => [a.c.id, a.text]), world.relocations.map((r) => [r.id, r.step, r.end])]);
    if (signature === sideDrawn) return;
    sideDrawn = signature;
    advice.replaceChildren(...all.slice(0, 12).map((a) => h('li', { class: `lv${a.level}` }, h('i', { 'aria-hidden': 'true' }, ['·', '!', '!!'][a.level]), h('div', {}, h('div', { class: 'where' }, shown(a.c.id, 60), h('span', { class: 'sr' }, [', note', ', warning', ', act now'][a.level])), h('p', {}, a.text), h('a', { href: link(a.c, a.to) }, a.act)))));
    if (!all.length) advice.append(h('li', {}, h('i', { 'aria-hidden': 'true' }, '·'), h('p', {}, 'Nothing. No container is near a limit, and none refuses requests.')));
    const moves = [...world.relocations].sort((a, b) => b.startedMs - a.startedMs).slice(0, 8);
    log.replaceChildren(...moves.map((r) => h('li', {}, h('time', {}, when(r.startedMs)), h('div', {}, h('div', { class: 'where' }, shown(r.container.replace(/^dbs\/(.*)\/colls\//, '$1/'), 60)), told(r)))));
    if (!moves.length) log.append(h('li', { class: 'none' }, 'No range was split, merged or moved in the last 24 hours.'));
  }
  const code = h('pre', { class: 'code', tabindex: 0, 'aria-label': 'Connection code' });
  let sdk = at.options.get('sdk') || 'Python';
  const names = () => { const c = last(); return [c?.db || 'shop', c?.name || 'orders']; };
  const showCode = () => { code.textContent = connectCode(sdk, ...names()); };
  const known = world.session?.wellKnownKey;
  root.append(h('div', { class: 'two' },
    h('div', { class: 'col' },
      panel('Which container needs me?', h('div', { class: 'row' }, h('input', { type: 'search', 'data-filter': true, placeholder: 'filter  /', 'aria-label': 'Filter containers', oninput: (e) => { filter = e.target.value; drawTable(); } }), readOnly() ? null : [button('Load sample data', (e) => loadSample(e.currentTarget)), button('Create container', create, { kind: 'primary' })]),
        h('div', { class: 'scroll' }, h('table', { class: 'tbl containers' }, h('thead', {}, head), body)), h('div', { class: 'under' }, legend({ refused: false }), h('span', { class: 'dim' }, 'without throughput: of 10,000 RU/s'))),
      panel('How do I connect?', seg('SDK', SDK.map(([k]) => [k, k]), sdk, (v) => { sdk = v; at.remember({ sdk: v }); showCode(); }),
        h('div', { class: 'connect' }, h('dl', { class: 'kv wide' },
          h('dt', {}, 'endpoint'), h('dd', { class: 'code' }, endpoint), h('dt', {}, 'key'), h('dd', {}, known ? [h('span', { class: 'code' }, `${WELL_KNOWN.slice(0, 12)}… `), button('copy', () => copy(WELL_KNOWN, 'the well-known key'), { kind: 'tiny', label: 'Copy the key' }), h('span', { class: 'dim' }, ' the well-known one')] : 'the one that you signed in with; this page has not kept it'),
          h('dt', {}, 'certificate'), h('dd', {}, h('a', { class: 'code', href: 'emulator.pem' }, 'emulator.pem')), h('dt', {}, 'code'), h('dd', {}, button('copy', () => copy(code.textContent, 'the code'), { kind: 'tiny', label: 'Copy the code' }))), code))),
    h('aside', { class: 'col side', 'aria-label': 'Advice' },
      panel('What should I look at?', null, advice),
      panel('What changed lately?', null, log))));
  drawSide(); drawTable(); showCode();
  let ticks = 0;
  world.listeners.add(() => { ticks += 1; if (body.contains(document.activeElement) || body.matches(':hover')) { for (const r of rows) r.tick(); } else drawTable(); if (ticks % 5 === 0 && !advice.contains(document.activeElement) && !advice.matches(':hover')) drawSide(); });
  world.layouts.add(() => { if (at.alive) { drawSide(); drawTable(); } });
}
