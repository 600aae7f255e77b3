// Ctrl+K, g + letter, ? and the rest of the keyboard.
import { h, dialog, carry, copy, shown } from './dom.js';
import { world, readOnly } from './world.js';
import { keyText } from './json.js';
import { create } from './create.js';
import { endpoint } from './api.js';
import { SCREENS, setTheme, link, last } from './shell.js';

/** What the screen that is shown adds. */
const extra = new Set();
/** A room offers an action while it is shown; `at.signal` takes it back. */
export function offer(at, text, hint, run) {
  const action = { kind: 'action', text, hint, run };
  extra.add(action);
  at.signal.addEventListener('abort', () => extra.delete(action));
}
function commands(go, show) {
  const theme = (t) => () => { setTheme(t); show(); }, c = last();
  const hot = world.containers.flatMap((k) => k.ranges.flatMap((r) => r.hottest.slice(0, 2).map((x) => ({ k, key: x.partitionKey })))).slice(0, 200);
  return [
    ...SCREENS.map(([id, text, key]) => ({ kind: 'screen', text, hint: `g ${key}`, run: () => go(id) })),
    ...extra,
    ...world.containers.map((k) => ({ kind: 'container', text: k.id, hint: k.key, run: () => { location.hash = link(k, 'map'); } })),
    ...(readOnly() ? [] : [{ kind: 'action', text: 'Create a container', hint: '', run: create }]),
    { kind: 'action', text: 'Copy the endpoint', hint: endpoint, run: () => copy(endpoint, 'the endpoint') },
    { kind: 'theme', text: 'Light', hint: '', run: theme('light') }, { kind: 'theme', text: 'Dark', hint: '', run: theme('dark') }, { kind: 'theme', text: 'Follow the system', hint: '', run: theme('system') },
    ...hot.map(({ k, key }) => ({ kind: 'key', text: keyText(key), hint: `hot in ${k.id}`, run: () => toKey(k, key) })),
    ...(c ? [{ kind: 'find', text: 'Where does a key live?', hint: `in ${c.id}`, run: () => go('keys') }] : []),
  ];
}
/** Hands a key to the Keys screen in memory. */
export function toKey(c, key) {
  carry.key = key;
  const to = link(c, 'keys');
  if (location.hash.split('?')[0] === to) dispatchEvent(new HashChangeEvent('hashchange')); else location.hash = to;
}
export const keyLink = (c, key, cls = 'code') => h('button', { type: 'button', class: `link ${cls}`, onclick: (e) => { e.stopPropagation(); toKey(c, key); } }, h('bdi', {}, shown(keyText(key), 60)));

export function palette(go, show) {
  const all = commands(go, show), list = h('ul', { class: 'pal-list', role: 'listbox', id: 'pal-list', 'aria-label': 'Commands' });
  const input = h('input', { type: 'text', class: 'pal-input', placeholder: 'Screen, container, key or action', 'aria-controls': 'pal-list', 'aria-label': 'Command', role: 'combobox', 'aria-expanded': 'true', autocomplete: 'off', spellcheck: false });
  const box = dialog('pal', 'Command palette', input, list, h('footer', {}, h('kbd', {}, '↑ ↓'), ' choose ', h('kbd', {}, 'Enter'), ' go ', h('kbd', {}, 'Esc'), ' close'));
  if (!box) return;
  let found = [], at = 0;
  const run = (c) => { box.close(); setTimeout(c.run); };
  const draw = () => {
    const q = input.value.trim().toLowerCase();
    found = all.filter((c) => `${c.kind} ${c.text} ${c.hint}`.toLowerCase().includes(q)).slice(0, 11);
    at = Math.max(0, Math.min(at, found.length - 1));
    list.replaceChildren(...(found.length ? found.map((c, i) => h('li', { role: 'option', id: `pal-${i}`, 'aria-selected': String(i === at), onclick: () => run(c) }, h('span', { class: 'dim kind' }, c.kind), h('span', {}, shown(c.text, 80)), h('span', { class: 'dim hint' }, shown(c.hint, 50)))) : [h('li', { class: 'none', role: 'option', 'aria-selected': 'false' }, 'Nothing has this name. Any text can be looked up as a key on the Keys screen.')]));
    input.setAttribute('aria-activedescendant', found.length ? `pal-${at}` : '');
  };
  input.addEventListener('input', () => { at = 0; draw(); });
  input.addEventListener('keydown', (e) => {
    if (e.key === 'ArrowDown') { at += 1; e.preventDefault(); draw(); }
    if (e.key === 'ArrowUp') { at -= 1; e.preventDefault(); draw(); }
    if (e.key === 'Enter' && found[at]) { e.preventDefault(); run(found[at]); }
  });
  draw(); input.focus();
}

const KEYS = [
  ['Anywhere', [['Ctrl K', 'command palette'], ['g then o m h k q d l', 'Overview, Map, Heat, Keys, Query, Data, Live'], ['/', 'filter of this screen'], ['p', 'pause or continue'], ['?', 'this list'], ['Esc', 'close, let go']]],
  ['Strip', [['← →', 'previous, next range'], ['Home End', 'first, last range'], ['s', 'split: place the line'], ['Enter', 'do it']]],
  ['Split line', [['← →', 'one slice'], ['Shift ← →', 'a tenth of a slice'], ['b', 'where the bytes balance'], ['Enter', 'split'], ['Esc', 'let go']]],
  ['Heat', [['← → ↑ ↓', 'move the crosshair'], ['Shift', 'by 8'], ['Enter', 'pin it'], ['[ ]', 'shorter, longer span'], ['z', 'zoom to the range'], ['m', 'add a mark']]],
  ['Query', [['Ctrl Enter', 'run'], ['Shift Enter', 'explain'], ['Ctrl Space', 'complete'], ['Esc', 'stop']]],
  ['Tables', [['↑ ↓', 'previous, next row'], ['Enter', 'open'], ['Space', 'choose']]],
];
export function help() {
  const box = dialog('help', 'Keyboard', h('h2', { class: 'title' }, 'Keyboard'),
    h('div', { class: 'helpgrid' }, KEYS.map(([title, rows]) => h('section', {}, h('h3', {}, title), h('dl', {}, rows.map(([k, t]) => [h('dt', {}, k.split(' ').map((x) => (x === 'then' ? ' then ' : h('kbd', {}, x)))), h('dd', {}, t)]))))),
    h('footer', {}, h('button', { type: 'button', class: 'btn', onclick: () => box.close() }, 'Close')));
}

export function keyboard({ go, palette: open, help: list }) {
  let g = 0;
  addEventListener('keydown', (e) => {
    if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === 'k') { e.preventDefault(); if (world.state === 'ready') open(); return; }
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.matches?.('input, textarea, select') || document.querySelector('dialog[open]') || world.state !== 'ready') return;
    if (g && performance.now() - g < 1200) { g = 0; const to = SCREENS.find(([, , key]) => key === e.key); if (to) { e.preventDefault(); go(to[0]); } return; }
    if (e.key === 'g') g = performance.now();
    if (e.key === '?') list();
    if (e.key === 'p') document.getElementById('live')?.click();
    if (e.key === '/') { const f = document.querySelector('[data-filter]'); if (f) { e.preventDefault(); f.focus(); } }
  });
}
