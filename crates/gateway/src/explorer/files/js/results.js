// Rows that came back: table, JSON or tree, always named after the container that they came from.
import { h, shown, int, dialog, button, copy, save, say } from './dom.js';
import { Num, write, pretty, SYSTEM } from './json.js';
import { paintJson } from './sql.js';

// Limits: what is drawn at once; the file has everything.
const ROWS_MAX = 500, COLUMNS_MAX = 24, JSON_MAX = 200_000, TREE_CHILDREN_MAX = 200;

export const cellText = (v, max = 60) => (v === undefined ? '' : v instanceof Num ? v.text : typeof v === 'string' ? shown(v, max) : shown(write(v), max));

function columns(rows) {
  const names = new Map();
  for (const row of rows) if (row instanceof Map) for (const k of row.keys()) names.set(k, (names.get(k) || 0) + 1);
  const all = [...names.keys()];
  return [...all.filter((k) => !SYSTEM.has(k)), ...all.filter((k) => SYSTEM.has(k) && all.length < 12)].slice(0, COLUMNS_MAX);
}
/** One value, whole, with what can be done with it. */
function cellMenu(c, name, value, filter) {
  const text = typeof value === 'string' ? value : write(value), scalar = !(value instanceof Map) && !Array.isArray(value);
  const box = dialog('cell', `Value of ${shown(name, 60)}`, h('h2', { class: 'title' }, h('code', {}, shown(name, 80))),
    h('pre', { class: 'code json', tabindex: 0 }, text.length > JSON_MAX ? shown(text, JSON_MAX) : typeof value === 'string' ? text : paintJson(pretty(text))),
    h('footer', { class: 'row' }, filter && scalar ? [button('Add to the filter', () => { box.close(); filter(name, value, true); }), button('Exclude', () => { box.close(); filter(name, value, false); })] : null, button('Copy', () => copy(text, 'the value')), h('span', { class: 'grow' }), button('Close', () => box.close())));
}
export function table(c, rows, { filter, open } = {}) {
  const names = columns(rows), plain = names.length === 0, some = rows.slice(0, ROWS_MAX);
  const numeric = new Set(names.filter((n) => some.every((r) => !(r instanceof Map) || r.get(n) === undefined || r.get(n) instanceof Num)));
  const cell = (name, v) => h('td', { class: numeric.has(name) ? 'n' : typeof v === 'string' ? '' : 'code' }, v === undefined ? h('span', { class: 'dim' }, '') : h('button', { type: 'button', class: 'cellbtn', onclick: () => cellMenu(c, name, v, filter) }, h('bdi', {}, cellText(v))));
  return h('table', { class: 'tbl' }, h('caption', { class: 'sr' }, `Rows from ${c.id}`), h('thead', {}, h('tr', {}, h('th', { class: 'n', scope: 'col' }, '#'), plain ? h('th', { scope: 'col' }, 'value') : names.map((n) => h('th', { scope: 'col', class: numeric.has(n) ? 'n' : '' }, h('bdi', {}, shown(n, 40)))))),
    h('tbody', {}, some.map((row, i) => h('tr', {}, h('th', { scope: 'row', class: 'n dim' }, open ? h('button', { type: 'button', class: 'link', onclick: () => open(row, i) }, i + 1) : i + 1), plain || !(row instanceof Map) ? h('td', { colspan: Math.max(1, names.length) }, h('button', { type: 'button', class: 'cellbtn', onclick: () => cellMenu(c, 'value', row, null) }, h('bdi', {}, cellText(row, 200)))) : names.map((n) => cell(n, row.get(n)))))));
}
function json(texts) {
  let all = '', n = 0;
  for (const t of texts) { if (all.length > JSON_MAX) break; all += `${n ? ',\n' : ''}${pretty(t)}`; n += 1; }
  return [h('pre', { class: 'code', tabindex: 0, 'aria-label': 'Rows as JSON' }, paintJson(all.length > JSON_MAX ? shown2(all) : all)), n < texts.length ? h('p', { class: 'none' }, `${int(texts.length - n)} more in the file.`) : null];
}
const shown2 = (text) => `${text.slice(0, JSON_MAX)}\n…`;
function tree(value, name, depth) {
  const label = h('span', { class: 'k-fn' }, h('bdi', {}, shown(name, 60)));
  if (!(value instanceof Map) && !Array.isArray(value)) return h('li', {}, label, ' ', h('span', { class: typeof value === 'string' ? 'k-str' : value instanceof Num ? 'k-num' : 'k-word' }, h('bdi', {}, typeof value === 'string' ? JSON.stringify(shown(value, 400)) : cellText(value, 400))));
  const entries = value instanceof Map ? [...value] : value.map((v, i) => [String(i), v]);
  const list = h('ul', {}), box = h('details', { open: depth < 1 }, h('summary', {}, label, h('span', { class: 'dim' }, value instanceof Map ? ` {${entries.length}}` : ` [${entries.length}]`)), list);
  const fill = () => { if (box.open && !list.firstChild) list.append(...entries.slice(0, TREE_CHILDREN_MAX).map(([k, v]) => tree(v, k, depth + 1)), ...(entries.length > TREE_CHILDREN_MAX ? [h('li', { class: 'none' }, `${int(entries.length - TREE_CHILDREN_MAX)} more`)] : [])); };
  box.addEventListener('toggle', fill); fill();
  return h('li', {}, box);
}
export function view(kind, c, rows, texts, options) {
  if (!rows.length) return h('p', { class: 'none' }, `No rows from ${shown(c.id)}.`);
  if (kind === 'json') return json(texts);
  if (kind === 'tree') return h('ul', { class: 'tree' }, rows.slice(0, ROWS_MAX).map((r, i) => tree(r, String(i + 1), rows.length > 3 ? 1 : 0)));
  return table(c, rows, options);
}
const csvCell = (v) => { const t = v === undefined ? '' : typeof v === 'string' ? v : write(v); return /[",\n\r]/.test(t) || /^[=+@-]/.test(t) && typeof v === 'string' ? `"${(/^[=+@-]/.test(t) && typeof v === 'string' ? `'${t}` : t).replaceAll('"', '""')}"` : t; };
/** Rows as a file: JSON exactly as it came, or CSV. Text that a table program would run as a formula gets an apostrophe. */
export function exportRows(kind, name, rows, texts) {
  if (kind === 'json') save(`${name}.json`, `[${texts.join(',\n')}]`);
  else { const names = columns(rows); save(`${name}.csv`, [names.map(csvCell).join(','), ...rows.map((r) => (r instanceof Map ? names.map((n) => csvCell(r.get(n))).join(',') : csvCell(r)))].join('\r\n'), 'text/csv'); }
  say('The file is saved.');
}
