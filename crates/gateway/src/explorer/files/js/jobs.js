// What is moving: the relocations of this container with their steps; holding stops before a step so that a test can look.
import { h, bytes, dec, pct, when, took, word, button, panel, toast, shown, int } from './dom.js';
import { manage, collPath } from './api.js';
import { jobsOf, readOnly } from './world.js';
import { asCode, curlManage } from './code.js';
import { STEPS, stepIndex } from './mapdraw.js';

// Limit: rows of the table; the newest.
const ROWS_MAX = 12;

export function jobsPanel(at) {
  const { c } = at, base = collPath(c.db, c.name), can = !readOnly(), jobs = h('div', { class: 'jobs', tabindex: 0, role: 'group', 'aria-label': 'Relocations' }), code = h('div', {});
  const held = new Set(), chips = h('span', { class: 'row' });
  const step = h('select', { 'aria-label': 'Step to hold before', onchange: () => show() }, STEPS.map((t) => h('option', { value: t, selected: t === 'cut-over' }, t)));
  const show = () => code.replaceChildren(asCode(null, curlManage('POST', `${base}/hold`, { step: step.value })));
  async function hold(name, on) {
    try {
      await manage('POST', `${base}/${on ? 'hold' : 'release'}`, { step: name });
      if (on) held.add(name); else held.delete(name);
      toast(on ? `Relocations of ${c.id} stop before ${name}.` : `Relocations of ${c.id} pass ${name}.`);
    } catch (error) { toast(error.message, true); }
    if (at.alive) draw();
  }
  async function giveUp(job) { try { await manage('DELETE', `relocations/${job.id}`); toast(`Relocation ${job.id} is given up; the old ranges serve on.`); } catch (error) { toast(error.message, true); } }
  const stepper = (j) => {
    const now = stepIndex(j.step), done = j.end === 'done';
    return h('ol', { class: 'stepper', 'aria-label': done ? 'done' : `step ${j.step}` }, STEPS.map((t, i) => {
      const began = j.steps?.find((x) => x.step === t)?.atMs, next = j.steps?.find((x) => stepIndex(x.step) > i)?.atMs ?? j.endedMs;
      return h('li', { class: done || i < now ? 'done' : i === now ? (j.end ? 'failed' : 'at') : '', title: `${t}${began ? `, ${next ? took(next - began) : 'now'}` : ''}` }, i === now && !j.end ? [t, t === 'copy' ? ` ${pct(j.progress)}` : '', j.isWaiting ? ', waits' : ''] : '');
    }));
  };
  let drawn = '';
  function draw() {
    const all = jobsOf(c).sort((a, b) => b.id - a.id), signature = JSON.stringify([all.slice(0, ROWS_MAX).map((j) => [j.id, j.step, j.isWaiting, j.end, Math.round((j.progress ?? 0) * 100)]), [...held]]);
    if (signature === drawn) return;
    drawn = signature;
    jobs.hidden = !all.length;
    none.hidden = Boolean(all.length);
    jobs.replaceChildren(h('table', { class: 'tbl' }, h('thead', {}, h('tr', {}, ['#', 'what', 'why', 'steps', 'data', word('write pause'), 'began', 'took', h('span', { class: 'sr' }, 'action')].map((t, i) => h('th', { scope: 'col', class: [0, 4, 5, 7].includes(i) ? 'n' : '' }, t)))),
      h('tbody', {}, all.slice(0, ROWS_MAX).map((j) => h('tr', { class: j.end ? '' : 'on' }, h('td', { class: 'n dim' }, j.id), h('th', { scope: 'row' }, `${j.sources.join(' + ')} → ${j.targets.join(' + ') || '…'}`), h('td', {}, j.reason),
        h('td', {}, stepper(j), j.failure ? h('span', { class: 'bad', title: shown(j.failure, 400) }, ' failed') : null), h('td', { class: 'n' }, bytes(j.bytes)), h('td', { class: 'n' }, j.writePauseMs === null ? '–' : `${dec(j.writePauseMs)} ms`), h('td', {}, when(j.startedMs, true)), h('td', { class: 'n' }, j.endedMs ? took(j.endedMs - j.startedMs) : '–'),
        h('td', {}, j.end || !can ? null : [j.isWaiting ? button('Release', () => hold(j.step, false), { kind: 'tiny' }) : button('Hold', () => hold(STEPS[Math.min(STEPS.length - 1, stepIndex(j.step) + 1)], true), { kind: 'tiny' }), ' ', stepIndex(j.step) < stepIndex('cut-over') ? button('Give up', () => giveUp(j), { kind: 'tiny' }) : null]))))),
      all.length > ROWS_MAX ? h('p', { class: 'none' }, `${int(all.length - ROWS_MAX)} older ones`) : '');
    chips.replaceChildren(...[...held].map((t) => button(`held before ${t}: release`, () => hold(t, false), { kind: 'tiny' })));
  }
  const none = h('p', { class: 'none' }, 'Nothing has moved in the last 24 hours.');
  show();
  const el = panel('What is moving?', can ? h('div', { class: 'row small' }, h('label', { class: 'dim' }, 'before ', step), button('Hold', () => hold(step.value, true), { kind: 'tiny', title: 'Stops relocations of this container before the step' }), button('Release', () => hold(step.value, false), { kind: 'tiny' })) : null, jobs, none, chips, can ? code : null);
  return { el, draw, isBusy: () => false };
}
