// What is around every screen: rail, breadcrumb, tabs, facts of the container.
import { h, int, many, bytes, pct, word, shown, toast } from './dom.js';
import { world, container, readOnly, reload } from './world.js';
import { session, enc } from './api.js';
import { mini } from './strip.js';
import { wordmark } from './logo.js';

export const SCREENS = [['overview', 'Overview', 'o'], ['map', 'Map', 'm'], ['heat', 'Heat', 'h'], ['keys', 'Keys', 'k'], ['query', 'Query', 'q'], ['data', 'Data', 'd'], ['live', 'Live', 'l']];
const THEMES = [['system', 'Auto'], ['light', 'Light'], ['dark', 'Dark']];
export const link = (c, screen, db = c.db, coll = c.name) => (screen === 'overview' ? '#/' : `#/${enc(db)}/${enc(coll)}/${screen}`);

function railItem(c, at) {
  const peak = h('span', { class: 'peak' }, pct(c.peak)), strip = h('span', { class: 'ministrip' }, mini(c.ranges, 5));
  const el = h('a', { class: 'coll', href: link(c, at.screen === 'overview' ? 'map' : at.screen), 'aria-current': at.screen !== 'overview' && c.db === at.db && c.name === at.coll ? 'page' : null },
    h('span', { class: 'name' }, shown(c.name, 60)), peak, strip);
  return { el, tick: () => { const text = pct(c.peak); if (peak.textContent !== text) peak.textContent = text; strip.replaceChildren(mini(c.ranges, 5)); } };
}
// Limit: containers in the rail; the Overview's table has all, with a filter.
const RAIL_MAX = 60;
function rail(at) {
  const items = [], groups = new Map(world.databases.map((d) => [d, []]));
  for (const c of world.containers) { if (!groups.has(c.db)) groups.set(c.db, []); groups.get(c.db).push(c); }
  let n = 0;
  const el = h('nav', { class: 'rail', 'aria-label': 'Containers', tabindex: -1 },
    h('a', { class: 'brand', href: '#/', 'aria-label': 'Orrery, overview' }, wordmark()),
    groups.size === 0 && h('p', { class: 'group none' }, 'No containers yet.'),
    [...groups].map(([db, list]) => h('div', { class: 'group' }, h('div', { class: 'db' }, shown(db, 60)),
      list.length ? list.filter(() => (n += 1) <= RAIL_MAX).map((c) => { const item = railItem(c, at); items.push(item); return item.el; }) : h('p', { class: 'none' }, 'no container'))),
    n > RAIL_MAX ? h('a', { class: 'group none', href: '#/' }, `${int(n - RAIL_MAX)} more`) : null,
    h('div', { class: 'railfoot' }, h('span', {}, location.host), h('span', { class: 'dim' }, `${readOnly() ? 'read only' : 'read and write'} · ${shown(world.info.version || world.session?.version || '', 20)}`),
      h('button', { type: 'button', class: 'link', onclick: async () => { await session.end(); location.reload(); } }, 'Sign out')));
  return { el, tick: () => { for (const i of items) i.tick(); } };
}

export function setTheme(id) {
  document.documentElement.dataset.theme = id;
  try { localStorage.setItem('orrery.theme', id); } catch { /* private window */ }
}
function themeSwitch(show) {
  const root = document.documentElement;
  return h('div', { class: 'seg small', role: 'radiogroup', 'aria-label': 'Theme' }, THEMES.map(([id, text]) => h('button', { type: 'button', role: 'radio', 'aria-checked': String(root.dataset.theme === id), onclick: (e) => {
    setTheme(id);
    for (const b of e.currentTarget.parentNode.children) b.setAttribute('aria-checked', String(b === e.currentTarget));
    show();
  } }, text)));
}

function liveBadge(changed) {
  if (world.state === 'lost') return h('span', { class: 'livebadge bad', id: 'live' }, h('i', {}), 'No server');
  const badge = h('button', { type: 'button', class: 'livebadge', title: 'Pause or continue (p)', id: 'live' });
  const draw = () => { badge.setAttribute('aria-pressed', String(!world.paused)); badge.replaceChildren(h('i', {}), world.paused ? 'Paused' : 'Live'); };
  badge.addEventListener('click', () => { world.paused = !world.paused; draw(); changed(); if (!world.paused) reload().catch((e) => toast(e.message, true)); });
  draw();
  return badge;
}

/** The frame; `tick` renews its figures in place. */
export function shell(at, main, { show, palette, help }) {
  const c = container(at.db, at.coll), account = at.screen === 'overview' || !c, side = rail(at);
  const bar = h('section', { class: 'facts', 'aria-label': account ? 'Facts of the account' : `Facts of ${shown(`${at.db}/${at.coll}`)}` });
  const list = account ? accountFacts() : facts(c);
  bar.append(...list.map((f) => f.el));
  const href = (id) => (id === 'overview' ? '#/' : c ? link(c, id) : at.db ? link(null, id, at.db, at.coll) : world.containers.length ? link(last(), id) : '#/');
  const el = h('div', { class: 'shell' }, side.el,
    h('div', { class: 'body' },
      h('header', { class: 'top' },
        h('h1', { class: 'crumb' }, at.screen === 'overview' ? h('strong', {}, 'Account') : [h('span', { class: 'dim' }, `${shown(at.db, 40)} /`), h('strong', {}, shown(at.coll, 40))]),
        h('nav', { class: 'tabs', 'aria-label': 'Screens' }, SCREENS.map(([id, text, key]) => h('a', { href: href(id), 'aria-current': id === at.screen ? 'page' : null, title: `g ${key}` }, text))),
        h('div', { class: 'tools' }, liveBadge(() => {}),
          h('button', { type: 'button', class: 'btn find', onclick: palette, title: 'Command palette' }, h('span', { class: 'findtext' }, 'Go to'), ' ', h('kbd', {}, 'Ctrl K')),
          themeSwitch(show), h('button', { type: 'button', class: 'btn icon', onclick: help, 'aria-label': 'Keyboard help', title: 'Keyboard help (?)' }, '?'))),
      bar, main));
  return { el, tick: () => { side.tick(); for (const f of list) f.tick(); } };
}
/** The container that was looked at last: where `g m` goes from the Overview. */
export function last() {
  const [db, coll] = (sessionStorage.getItem('orrery.last') || '').split('\n');
  return container(db, coll) || [...world.containers].sort((a, b) => b.peak - a.peak)[0];
}

/** A fact whose value is renewed only when it changes. */
function fact(label, read, { cls = '', bad = () => false, unit = null } = {}) {
  const value = h('b', {}), el = h('span', { class: `fact ${cls}` }, h('span', { class: 'dim' }, label), ' ', value, unit ? [' ', unit] : null);
  const tick = () => { const text = String(read()); if (value.textContent !== text) value.textContent = text; el.classList.toggle('bad', bad()); };
  tick();
  return { el, tick };
}
function facts(c) {
  const b = c.hasBudget;
  return [fact('key', () => shown(c.key, 80), { cls: 'mono' }), fact('items', () => many(c.items)), fact('data', () => bytes(c.bytes)), fact(word('range', 'ranges'), () => int(c.ranges.length)),
    fact('throughput', () => (b ? int(c.provisioned) : 'none'), { unit: b ? word('RU/s') : null }), fact('used now', () => int(c.used), { unit: 'RU' }),
    fact('busiest', () => pct(c.peak), { bad: () => b && c.peak >= 1 }), fact(word('429', '429s'), () => int(c.refused), { bad: () => c.refused > 0, unit: 'last minute' }), fact('enforced', () => world.info.enforcement ?? '–')];
}
function accountFacts() {
  const sum = (f) => world.containers.reduce((n, c) => n + f(c), 0);
  return [fact('databases', () => int(world.databases.length)), fact('containers', () => int(world.containers.length)), fact('items', () => many(sum((c) => c.items))), fact('data', () => bytes(sum((c) => c.bytes))),
    fact('ranges', () => int(sum((c) => c.ranges.length))), fact('throughput', () => int(sum((c) => (c.isShared ? 0 : c.provisioned || 0))), { unit: word('RU/s') }), fact('used now', () => int(sum((c) => c.used)), { unit: 'RU' }), fact('enforced', () => world.info.enforcement ?? '–'),
    fact(word('429', '429s'), () => int(sum((c) => c.refused)), { unit: 'last minute', bad: () => sum((c) => c.refused) > 0 })];
}
