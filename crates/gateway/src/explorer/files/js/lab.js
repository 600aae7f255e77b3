// The lab: faults, the clock, enforcement and reset. For tests of an application, never for a server that others use.
import { h, button, panel, toast, shown, int, dialog, plural } from './dom.js';
import { manage, collPath } from './api.js';
import { world, readOnly, refresh, reload } from './world.js';
import { ask } from './itemedit.js';
import { write } from './json.js';
import { asCode, curlManage } from './code.js';

const ACTIONS = ['', 'item_create', 'item_read', 'item_replace', 'item_upsert', 'item_patch', 'item_delete', 'query', 'batch'];

export function lab(at) {
  const { c } = at, can = !readOnly(), faults = h('ul', { class: 'lab-list' }), mode = h('select', { 'aria-label': 'Enforcement of throughput', disabled: !can, onchange: () => enforce(mode.value) }, ['off', 'warn', 'on'].map((m) => h('option', { value: m }, m))), clockText = h('span', { class: 'dim' }, '');
  const path = `dbs/${c.db}/colls/${c.name}`;
  async function read() {
    try { const told = await manage('GET', 'faults', undefined, { signal: at.signal }), now = await manage('GET', 'clock', undefined, { signal: at.signal }); if (at.alive) { drawFaults(told.faults || told.rules || []); clockText.textContent = new Date(now.nowMs).toLocaleString(); } } catch { /* the panel stays as it was */ }
    mode.value = world.info.enforcement || 'off'; mode.disabled = !can || !world.info.enforcement;
  }
  const say = async (run, done) => { try { await run(); toast(done); } catch (error) { toast(error.message, true); } if (at.alive) read(); };
  function drawFaults(list) {
    faults.replaceChildren(...list.map((f) => h('li', {}, h('div', {}, `${f.status ? `${f.status}${f.subStatus ? `/${f.subStatus}` : ''}` : 'delay'}${f.delayMs ? `, ${int(f.delayMs)} ms` : ''}, ${plural(f.times ?? 1, 'time')}`, h('span', { class: 'dim' }, shown(f.match && Object.keys(f.match).length ? Object.entries(f.match).map(([k, v]) => `${k} ${Array.isArray(v) ? write(v) : typeof v === 'object' ? JSON.stringify(v) : v}`).join(', ') : 'any request', 120))))));
    if (!list.length) faults.append(h('li', { class: 'none' }, 'None. Requests are answered as they deserve.'));
    else if (can) faults.append(h('li', {}, button('Remove all', () => say(() => manage('DELETE', 'faults'), 'No more faults.'), { kind: 'tiny' })));
  }
  function addFault() {
    const f = (label, value, wide) => { const i = h('input', { type: 'text', value }); return { el: h('label', { class: wide ? 'all' : '' }, label, i), get: () => i.value.trim(), i }; };
    const status = f('status', '429'), sub = f('sub-status', '3200'), retry = f('retry after, ms', '100'), times = f('times', '3'), delay = f('delay, ms', '0'), key = f('partition key as JSON', '', true), action = h('select', {}, ACTIONS.map((a) => h('option', { value: a }, a || 'any request'))), code = h('div', { class: 'all' });
    const body = () => { const num = (x) => (x.get() && Number(x.get()) ? Number(x.get()) : undefined), match = { path, ...(action.value ? { action: action.value } : {}) }; let k; try { k = key.get() ? JSON.parse(key.get()) : undefined; } catch { k = [key.get()]; } if (k) match.partitionKey = Array.isArray(k) ? k : [k]; return JSON.parse(JSON.stringify({ match, status: num(status), subStatus: num(sub), retryAfterMs: num(retry), times: num(times) ?? 1, delayMs: num(delay) })); };
    const show = () => code.replaceChildren(asCode(null, curlManage('POST', 'faults', body())));
    const box = dialog('ask', 'Add a fault', h('h2', { class: 'title' }, 'Which requests shall fail?'), h('p', { class: 'dim' }, `Requests to ${shown(c.id)} only. Without a status they wait, and go on.`), h('div', { class: 'labform' }, h('label', {}, 'requests', action), status.el, sub.el, retry.el, times.el, delay.el, key.el, code), h('footer', { class: 'row' }, h('span', { class: 'grow' }), button('Cancel', () => box.close()), button('Add', () => { box.close(); say(() => manage('POST', 'faults', body()), 'The next requests that fit will fail.'); }, { kind: 'primary' })));
    if (!box) return;
    box.addEventListener('input', show); show(); action.focus();
  }
  function advance() {
    const seconds = h('input', { type: 'text', class: 'short', value: '3600', inputmode: 'numeric', 'aria-label': 'Seconds' });
    ask('Move the clock forward?', 'Of the whole account, until the server starts again. Items expire as if the time had passed.', 'Advance', () => say(() => manage('POST', 'clock', { advanceSeconds: Number(seconds.value) || 0 }), `The clock is ${int(Number(seconds.value) || 0)} s further.`), [h('label', { class: 'row' }, 'by ', seconds, ' seconds'), asCode(null, curlManage('POST', 'clock', { advanceSeconds: 3600 }))]);
  }
  const reset = () => ask(`Empty ${shown(c.id)}?`, `All ${plural(c.items, 'item')} go; properties, scripts and ranges stay. It cannot be undone.`, 'Empty it', () => say(async () => { await manage('POST', `${collPath(c.db, c.name)}/reset`); await refresh(c); }, `${c.id} is empty.`), [asCode(null, curlManage('POST', `${collPath(c.db, c.name)}/reset`))]);
  const enforce = (m) => say(async () => { await manage('POST', 'enforcement', { mode: m }); world.info.enforcement = m; await reload(); }, `Throughput is ${m === 'on' ? 'enforced: what is over the budget gets 429' : m === 'warn' ? 'counted and logged, and not refused' : 'not enforced'}.`);
  const line = (title, sub, control) => h('li', {}, h('div', {}, title, sub), control);
  const el = [panel('Lab', h('span', { class: 'dim' }, shown(c.id, 40)), h('ul', { class: 'lab-list' },
    line('Fail the next requests', h('span', { class: 'dim' }, 'of this container'), button('Add fault', addFault, { kind: 'tiny', disabled: !can })), line('Move the clock', clockText, button('Advance', advance, { kind: 'tiny', disabled: !can })),
    line('Enforce throughput', h('span', { class: 'dim' }, 'of the whole account'), mode), line('Empty the container', h('span', { class: 'dim' }, 'keeps ranges and scripts'), button('Reset…', reset, { kind: 'tiny', disabled: !can }))), asCode(null, curlManage('POST', 'enforcement', { mode: 'on' }))), panel('Active faults', null, faults)];
  read(); drawFaults([]);
  return { el, read };
}
