// Data: which items are there, where does one live, and what else does the container have: scripts, settings.
import { h, int, bytes, ru, button, panel, seg, shown, rowKeys, plural, say } from './dom.js';
import { keyOf, keyText, write, own, Num, SYSTEM } from './json.js';
import { readOnly } from './world.js';
import { queryPage, itemsPath, queryHeaders } from './wire.js';
import { itemEditor } from './itemedit.js';
import { bulkDialog, target } from './bulk.js';
import { uploadDialog } from './upload.js';
import { scripts } from './scripts.js';
import { settings } from './settings.js';
import { asCode, curlWire } from './code.js';
import { offer } from './palette.js';

// Limits: items of a page, items kept, rows around those in view.
const PAGE = 100, KEPT_MAX = 20000, ROW_H = 27, AHEAD = 8;

/** The first few properties of an item in one line, in the order in which they stand. */
function gist(map, paths) {
  const first = new Set(['id', ...paths.map((p) => p.slice(1).split('/')[0])]), out = [];
  for (const [k, v] of map) { if (first.has(k) || SYSTEM.has(k)) continue; out.push(`${k}: ${v instanceof Num ? v.text : typeof v === 'string' ? v.slice(0, 60) : write(v).slice(0, 60)}`); if (out.length > 5) break; }
  return shown(out.join('  '), 200);
}

export default function data(root, at) {
  const parts = { items, scripts, settings }, part = parts[at.options.get('part')] ? at.options.get('part') : 'items', body = h('div', {});
  const tabs = seg('Part', [['items', 'Items'], ['scripts', 'Scripts'], ['settings', 'Settings']], part, (v) => { at.remember({ part: v === 'items' ? null : v }); body.replaceChildren(); parts[v](body, at); });
  root.append(h('div', { class: 'row parts' }, tabs), body);
  parts[part](body, at);
}

function items(root, at) {
  const { c } = at, can = !readOnly();
  let rows = [], continuation = null, where = '', loading = false, ended = false, top = 0, spent = 0, run = 0, open = -1, active = 0;
  /** What is chosen belongs to this screen of this container, and dies with it. */
  const chosen = new Map();
  const rowKey = (r) => r.self;
  const list = h('div', { class: 'vlist', role: 'grid', 'aria-label': `Items of ${shown(c.id, 80)}`, 'aria-multiselectable': 'true', tabindex: 0 }), vrows = h('div', { class: 'vrows', role: 'rowgroup' }), count = h('p', { class: 'dim under', role: 'status' }), wrong = h('p', { class: 'bad mono', role: 'alert' }), code = h('div', {}), picked = h('div', { class: 'row' });
  const editor = itemEditor(at, (item, deleted) => {
    const i = rows.findIndex((r) => r.self === item.map.get('_self'));
    if (deleted) { if (i >= 0) { chosen.delete(rows[i].self); rows.splice(i, 1); } } else if (i >= 0) rows[i] = row(item.text, item.map); else rows.unshift(row(item.text, item.map));
    draw();
  });
  const row = (text, map) => ({ text, map, self: map.get('_self') ?? write(keyOf(map, c.paths)) + map.get('id'), id: map.get('id') ?? '', key: keyText(keyOf(map, c.paths)), gist: gist(map, c.paths), size: new TextEncoder().encode(own(text)).length });
  const text = () => `SELECT * FROM c${where ? ` WHERE ${where}` : ''}`;
  async function more() {
    if (loading || ended || rows.length >= KEPT_MAX) return;
    loading = true;
    const mine = run;
    try {
      const page = await queryPage(c, text(), { continuation, size: PAGE, signal: at.signal });
      if (!at.alive || mine !== run) return;
      spent += page.charge; continuation = page.continuation; ended = !continuation;
      page.rows.forEach((map, i) => { if (map instanceof Map) rows.push(row(page.texts[i], map)); });
      wrong.textContent = '';
    } catch (error) {
      if (error.name === 'AbortError' || mine !== run) return;
      ended = true; wrong.textContent = shown(error.message, 400);
    } finally { if (mine === run && at.alive) { loading = false; draw(); } }
  }
  function restart() { run += 1; rows = []; continuation = null; ended = false; loading = false; spent = 0; top = 0; open = -1; active = 0; list.scrollTop = 0; chosen.clear(); draw(); more(); }
  function choose(r, on) { if (on) chosen.set(rowKey(r), r); else chosen.delete(rowKey(r)); drawPicked(); }
  function show(i) { open = i; editor.open(rows[i].text); drawRows(); }
  function drawPicked() {
    const label = chosen.size ? `${plural(chosen.size, 'item')} of ${shown(c.id, 40)} chosen` : '';
    picked.replaceChildren(...[chosen.size ? h('b', {}, label) : null, can && chosen.size ? button('Change the chosen…', () => bulkDialog(at, { items: [...chosen.values()].map((r) => target(c, r.map)) }, restart), { kind: 'primary' }) : null, chosen.size ? button('Let go', () => { chosen.clear(); draw(); }) : null, can && !chosen.size ? button('Change all that match…', () => bulkDialog(at, { where }, restart), { disabled: !rows.length }) : null].filter(Boolean));
  }
  function draw() {
    count.textContent = `${int(rows.length)}${ended ? '' : ' or more'} ${rows.length === 1 ? 'item' : 'items'}${where ? ' match' : ''}, read for ${ru(spent)} RU.${rows.length >= KEPT_MAX ? ' That is as many as this list keeps: narrow the filter.' : ''}`;
    code.replaceChildren(asCode(null, curlWire('POST', itemsPath(c), JSON.stringify({ query: text(), parameters: [] }), queryHeaders())));
    drawPicked(); drawRows();
  }
  function drawRows() {
    vrows.style.height = `${Math.max(1, rows.length) * ROW_H}px`;
    const from = Math.max(0, Math.floor(top / ROW_H) - AHEAD), to = Math.min(rows.length, from + Math.ceil((list.clientHeight || 420) / ROW_H) + 2 * AHEAD), focus = vrows.contains(document.activeElement) ? [document.activeElement.closest('.vrow')?.dataset.i, document.activeElement.matches('input')] : null;
    vrows.replaceChildren(...rows.slice(from, to).map((r, j) => {
      const i = from + j, box = h('input', { type: 'checkbox', checked: chosen.has(rowKey(r)), 'aria-label': `Choose ${shown(r.id, 60)}`, tabIndex: -1, onclick: (e) => e.stopPropagation(), onchange: (e) => choose(r, e.target.checked) });
      const keys = rowKeys(() => show(i));
      return h('div', { class: `vrow${i === open ? ' on' : ''}`, role: 'row', 'aria-selected': String(chosen.has(rowKey(r))), 'data-i': i, css: { top: `${i * ROW_H}px` }, tabindex: i === active || (active < from || active >= to) && i === from ? 0 : -1, onfocus: () => { active = i; }, onclick: keys.onclick, onkeydown: (e) => { if (e.key === ' ' && e.target === e.currentTarget) { e.preventDefault(); box.checked = !box.checked; choose(r, box.checked); } else keys.onkeydown(e); } },
        h('span', { role: 'gridcell' }, box), h('bdi', { class: 'code', role: 'rowheader' }, shown(r.id, 80)), h('bdi', { class: 'code', role: 'gridcell' }, shown(r.key, 60)), h('bdi', { class: 'dim', role: 'gridcell' }, r.gist), h('span', { class: 'n dim', role: 'gridcell' }, bytes(r.size)));
    }));
    if (!rows.length) vrows.append(h('div', { class: 'none', role: 'row' }, h('span', { role: 'gridcell' }, loading ? 'Reading…' : wrong.textContent ? 'The filter was refused.' : where ? 'No item matches.' : 'No item yet.')));
    if (focus) { const el = vrows.querySelector(`[data-i="${focus[0]}"]`); (focus[1] ? el?.querySelector('input') : el)?.focus({ preventScroll: true }); }
    if (!ended && to >= rows.length - AHEAD) more();
  }
  list.append(h('div', { class: 'vrow vhead', role: 'row' }, h('span', { role: 'columnheader' }, h('span', { class: 'sr' }, 'chosen')), h('span', { role: 'columnheader' }, 'id'), h('span', { role: 'columnheader' }, shown(c.key, 40)), h('span', { role: 'columnheader' }, 'other properties'), h('span', { role: 'columnheader', class: 'n' }, 'size')), vrows);
  list.addEventListener('scroll', () => { top = list.scrollTop; drawRows(); });
  const filter = h('input', { type: 'search', class: 'where', 'data-filter': true, placeholder: "c.city = 'Bern'   /", 'aria-label': 'Filter: what stands after WHERE', spellcheck: false, onkeydown: (e) => { if (e.key === 'Enter') { where = filter.value.trim().replace(/^where\s+/i, ''); restart(); } }, onsearch: () => { if (!filter.value && where) { where = ''; restart(); } } });
  root.append(h('div', { class: 'two' }, h('div', { class: 'col' },
    panel('Which items are there?', h('div', { class: 'row' }, h('label', { class: 'dim' }, 'WHERE ', filter), button('Filter', () => { where = filter.value.trim().replace(/^where\s+/i, ''); restart(); }), can ? [button('New item', () => editor.create()), button('Upload…', () => uploadDialog(at, restart))] : null), wrong, list, count, picked, code),
    panel('Where does this item live?', null, editor.fig.el)),
  h('aside', { class: 'col side', 'aria-label': 'Item' }, editor.el)));
  restart();
  if (can) { offer(at, 'New item', '', () => editor.create()); offer(at, 'Upload items', '', () => uploadDialog(at, restart)); }
  say(`Items of ${c.id}.`);
}
