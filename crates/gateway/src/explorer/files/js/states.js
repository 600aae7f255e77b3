// Nothing yet, not yet, not any more, not signed in: each says what to do next.
import { h, button, toast, copy, clock, shown, dec } from './dom.js';
import { mark } from './logo.js';
import { session, endpoint } from './api.js';
import { world, container, reload } from './world.js';
import { create } from './create.js';
import { loadSample } from './sample.js';
import { mini } from './strip.js';
import { SDK, connectCode } from './connect.js';

export function loading() {
  const wait = h('p', { class: 'dim' }), bars = [12, 6, 6, 25, 10, 7, 8, 26];
  setTimeout(() => { wait.textContent = 'Waiting for the ranges of all containers from the server.'; }, 2000);
  return h('div', { class: 'state loading', 'aria-busy': 'true', role: 'status' },
    h('h1', { class: 'q' }, 'Reading the ranges…'),
    h('div', { class: 'skel strip-skel' }, bars.map((w) => h('i', { css: { 'flex-grow': String(w) } }))),
    [92, 78, 85, 64, 71].map((w) => h('div', { class: 'skel line', css: { width: `${w}%` } })), wait);
}

/** The last picture stays below, faded, with its age; its actions are off. */
export function lostBanner(c) {
  const age = h('span', {}), draw = () => { age.textContent = ` What you see is ${dec((Date.now() - world.lostAt) / 1000, 0)} s old; actions are off until it is back.`; };
  draw();
  const timer = setInterval(() => (age.isConnected ? draw() : clearInterval(timer)), 1000);
  const details = () => `${world.error?.method || 'GET'} ${world.error?.path || '_orrery/events'}\nstatus ${world.error?.status || 'none'}\n${world.error?.message || ''}\nx-ms-activity-id ${world.error?.activity || 'none'}`;
  return h('div', { class: 'lost', role: 'alert' }, h('b', {}, 'The server does not answer. '), `The connection ended at ${clock(world.lostAt, true)}.`, age,
    h('div', { class: 'row' }, button('Try again now', () => reload().catch((e) => toast(e.message, true)), { kind: 'primary' }), button('Copy details', () => copy(details(), 'the details')), c ? h('span', { class: 'lostmini' }, mini(c.ranges, 8)) : null));
}

export function gone(at) {
  return h('div', { class: 'state' }, h('h1', { class: 'q' }, 'There is no such container'),
    h('p', {}, h('code', {}, shown(`${at.db}/${at.coll}`)), ' is not on this server. It may have been deleted, or its name may be written differently.'),
    h('div', { class: 'row' }, h('a', { class: 'btn primary', href: '#/' }, 'All containers'), button('Create a container', create)));
}

export function signIn(done, known) {
  const input = h('input', { type: 'password', class: 'wide', 'aria-label': 'Key of the account', autocomplete: 'off', spellcheck: false, required: true });
  const wrong = h('p', { class: 'bad', role: 'alert' });
  const go = async (key) => {
    wrong.textContent = '';
    try { world.session = await session.begin(key); done(); } catch (error) { wrong.textContent = error.status === 401 ? 'This is not a key of this account.' : shown(error.message); input.select(); }
  };
  return h('main', { class: 'state signin', id: 'main', tabindex: -1 }, mark(56), h('h1', { class: 'q' }, 'Which key?'),
    h('p', {}, `A key of the account at ${endpoint}. It is exchanged for a cookie of 12 hours that only this page can use, and is not kept. A read-only key gives a read-only page.`),
    h('form', { class: 'row', onsubmit: (e) => { e.preventDefault(); if (input.value.trim()) go(input.value.trim()); } }, input, h('button', { class: 'btn primary', type: 'submit' }, 'Open')),
    known?.wellKnownKey ? h('div', { class: 'row' }, button('Use the well-known key', () => go(undefined), {}), h('span', { class: 'dim' }, 'the one of all emulators: this server has it')) : null, wrong);
}

export function empty() {
  const step = (n, title, ...body) => h('li', {}, h('b', {}, n), h('div', {}, h('h2', {}, title), ...body));
  const code = connectCode(SDK[0][0], 'shop', 'orders');
  return h('div', { class: 'state empty' }, mark(56),
    h('h2', { class: 'q' }, 'No container yet'),
    h('p', {}, 'Orrery speaks the Azure Cosmos DB protocol. Point any official SDK here, or begin with generated data.'),
    h('ol', { class: 'steps' },
      step('1', 'Connect', h('pre', { class: 'code', tabindex: 0, 'aria-label': 'Connection code' }, code), h('div', { class: 'row' }, button('Copy', () => copy(code, 'the code')))),
      step('2', 'Or load a sample', h('p', {}, 'A shop with 3 containers, 2,000 orders, customers and products, and one hot key to find.'), h('div', { class: 'row' }, button('Load the sample', (e) => loadSample(e.currentTarget), { kind: 'primary' }))),
      step('3', 'Or create a container', h('p', {}, 'Paste one of your items and click the property that should be the key. You see its hash and its range before you decide.'), h('div', { class: 'row' }, button('Create a container', create)))));
}
export const here = (at) => container(at.db, at.coll);
