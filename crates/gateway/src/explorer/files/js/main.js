// Routes the fragment to a screen. State is in the address; keys and items never are.
import { h, hideTip, toast } from './dom.js';
import { onSignedOut, session, enc } from './api.js';
import { world, container, reload, listen } from './world.js';
import { shell, SCREENS, last, link } from './shell.js';
import { palette, help, keyboard } from './palette.js';
import { loading, lostBanner, empty, gone, signIn } from './states.js';
import overview from './overview.js';
import map from './map.js';
import heat from './heat.js';
import keys from './keys.js';
import query from './query.js';
import data from './data.js';
import live from './live.js';

const rooms = { overview, map, heat, keys, query, data, live };
const app = document.getElementById('app');
/** The room that is shown: what it shows, its ticks, and how it ends. */
let room = null;

export function parse() {
  const [path, search = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const name = (text) => { try { return decodeURIComponent(text); } catch { return text; } };
  const parts = path.split('/').filter(Boolean).map(name), options = new URLSearchParams(search);
  if (parts.length < 2) return { db: '', coll: '', screen: 'overview', options };
  const [db, coll, screen] = parts;
  return { db, coll, screen: SCREENS.some(([id]) => id === screen && id !== 'overview') ? screen : 'map', options };
}
/** Goes to a screen of the container that is shown. */
export function go(screen) {
  const at = parse(), c = container(at.db, at.coll) || last();
  location.hash = screen === 'overview' || !c ? '#/' : link(c, screen);
}
/** Changes options of the address without building the screen anew. */
function remember(at, changes) {
  for (const [k, v] of Object.entries(changes)) if (v === null || v === undefined || v === '') at.options.delete(k); else at.options.set(k, v);
  const text = at.options.toString();
  history.replaceState(null, '', `${at.screen === 'overview' ? '#/' : `#/${enc(at.db)}/${enc(at.coll)}/${at.screen}`}${text ? `?${text}` : ''}`);
}

function leave() {
  if (room) { room.at.alive = false; room.abort.abort(); room.stop?.(); }
  world.listeners.clear(); world.layouts.clear(); world.throttles.clear();
  world.layouts.add(layout);
  hideTip();
  // an open question belongs to the container that it was asked for
  for (const box of document.querySelectorAll('dialog[open]')) box.close();
  room = null;
}
function show() {
  if (world.state === 'loading') { leave(); app.replaceChildren(loading()); return; }
  leave();
  const at = parse(), abort = new AbortController();
  at.alive = true; at.signal = abort.signal; at.remember = (changes) => { if (at.alive) remember(at, changes); };
  const c = container(at.db, at.coll), main = h('main', { id: 'main', tabindex: -1, class: `room ${at.screen}` });
  at.c = c;
  const frame = shell(at, main, { show, palette: () => palette(go, show), help });
  app.replaceChildren(frame.el);
  room = { at, abort, main, lost: false, id: c?.rid, n: world.containers.length };
  if (at.screen !== 'overview' && !c) main.append(gone(at));
  else if (at.screen === 'overview' && !world.containers.length) main.append(empty());
  else {
    if (c) sessionStorage.setItem('orrery.last', `${c.db}\n${c.name}`);
    room.stop = rooms[at.screen](main, at);
  }
  world.listeners.add(frame.tick);
  document.title = `${at.screen === 'overview' ? 'Overview' : `${at.db}/${at.coll} ${at.screen}`} · Orrery`;
  layout();
}
/** Containers came or went, or the server did: the screen is built anew only when what it shows is another thing. */
function layout() {
  if (world.state === 'loading') return;
  if (!room) { show(); return; }
  const c = container(room.at.db, room.at.coll), is = world.state === 'lost';
  if (c !== room.at.c || (c && room.id && c.rid !== room.id) || (room.n !== world.containers.length && !document.querySelector('dialog[open]') && !room.main.querySelector('textarea:focus, input:focus'))) { if (c && room.id && c.rid !== room.id) toast('This container was made anew meanwhile.'); show(); return; }
  if (is === room.lost) return;
  room.lost = is;
  room.main.classList.toggle('faded', is);
  room.main.inert = is;
  document.querySelector('.lost')?.remove();
  const badge = document.getElementById('live');
  if (is) { room.main.before(lostBanner(c)); if (badge) badge.lastChild.textContent = 'No server'; badge?.setAttribute('aria-pressed', 'false'); } else if (badge) show();
}

async function start() {
  let saved = null;
  try { saved = localStorage.getItem('orrery.theme'); } catch { /* private window */ }
  if (saved) document.documentElement.dataset.theme = saved;
  app.replaceChildren(loading());
  let known;
  try { known = await session.get(); } catch (error) { world.lostAt = Date.now(); world.error = error; app.replaceChildren(lostBanner(null)); setTimeout(start, 3000); return; }
  world.session = known;
  if (!known.signedIn && known.wellKnownKey) {
    // the public key protects nothing: no question is asked
    try { world.session = await session.begin(undefined); } catch { /* the form asks */ }
  }
  if (!world.session.signedIn) { ask(known); return; }
  await open();
}
function ask(known) { leave(); world.state = 'signin'; app.replaceChildren(signIn(() => { world.state = 'loading'; app.replaceChildren(loading()); open(); }, known)); document.title = 'Sign in · Orrery'; document.querySelector('input')?.focus(); }
let listening = false;
async function open() {
  try { await reload(); } catch (error) { if (error.status === 401) return; world.state = 'lost'; world.lostAt = Date.now(); world.error = error; app.replaceChildren(lostBanner(null)); setTimeout(open, 2000); return; }
  if (!room) show();
  if (!listening) { listening = true; listen().finally(() => { listening = false; }); }
}
onSignedOut(() => { if (world.state !== 'signin' && world.state !== 'loading') { world.session.signedIn = false; ask(world.session); } });
addEventListener('hashchange', () => { if (world.state !== 'signin') show(); });
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { if (room) show(); });
keyboard({ go, palette: () => palette(go, show), help });
world.layouts.add(layout);
start();
