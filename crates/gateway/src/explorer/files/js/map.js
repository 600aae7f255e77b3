// Map: where are the data and the load now, how did it come to this, and what is moving?
import { h, s, int, word, panel, toast, say } from './dom.js';
import { manage, collPath } from './api.js';
import { world, jobsOf, refresh, readOnly, rangeAt, hex } from './world.js';
import { axisFigure, axis, strip, legend, walk } from './strip.js';
import { lineage, lineageHeight, drawLineage } from './lineage.js';
import { BAND, BAR, drawFront, drawBytes, drawDraft, bytesBetween } from './mapdraw.js';
import { mapSide } from './mapside.js';
import { jobsPanel } from './jobs.js';
import { offer } from './palette.js';

const TOP = 8, GAP = 42;

export default function map(root, at) {
  const { c } = at, can = !readOnly();
  let selected = at.options.get('range') || rangeAt(c, .5)?.id, draft = null, where = .5, ticked = false, rows = lineage(c), scale = 1;
  const height = () => TOP + lineageHeight(rows) + BAND + GAP + BAR + 24;
  const fig = axisFigure({ label: 'Hash strip', height, draw(ctx) {
    const yBand = TOP + lineageHeight(rows) + 2, yBar = yBand + BAND + GAP, live = jobsOf(c).filter((j) => !j.end), busy = new Set(live.flatMap((j) => j.sources));
    drawLineage(ctx, TOP - 4, rows, selected);
    strip(ctx, yBand, BAND, c.ranges, { selected, pick, uid: 'map' });
    ctx.left(yBand + 20, 'load'); ctx.left(yBand + 33, 'now', 'dim');
    ctx.right(yBand + 20, c.hasBudget ? '% of budget' : '% of 10,000 RU/s'); ctx.right(yBand + 33, 'busiest second', 'dim');
    if (c.hasBudget) {
      for (const r of c.ranges) { const w = ctx.x(r.hi) - ctx.x(r.lo); if (!busy.has(r.id) && w > 40) ctx.add(s('text', { class: 'lab dim', x: ctx.x(r.lo) + 7, y: yBand + BAND + 15 }, w > 84 ? `${int(r.budget)} RU/s` : int(r.budget))); }
      ctx.left(yBand + BAND + 15, 'budget', 'dim');
    }
    for (const job of live) drawFront(ctx, c, yBand, job, ticked);
    for (const r of c.ranges) if (r.born && performance.now() - r.born < 900 && r.lo > 0) ctx.add(s('line', { class: 'fresh', x1: ctx.x(r.lo), x2: ctx.x(r.lo), y1: yBand - 12, y2: yBar + BAR }));
    scale = drawBytes(ctx, c, yBar, world.info.partitionBytes, draft);
    ctx.left(yBar + BAR / 2 + 4, 'data');
    if (draft) drawDraft(ctx, c, yBand, yBar, scale, draft, move);
    axis(ctx, yBar + BAR + 1);
    if (!draft) ctx.right(yBar + BAR + 16, 'width = hash span', 'dim');
  } });
  const chosen = () => c.ranges.find((r) => r.id === selected) || rangeAt(c, where);
  function pick(id) {
    selected = id;
    const r = chosen();
    where = (r.lo + r.hi) / 2;
    if (draft?.id !== id) draft = null;
    at.remember({ range: id });
    side.cancel(); redraw();
  }
  function move(place) {
    const r = c.ranges.find((x) => x.id === draft.id);
    if (!r) { draft = null; redraw(); return; }
    const edge = Math.min(1 / 512, (r.hi - r.lo) / 4);
    draft.at = Math.max(r.lo + edge, Math.min(r.hi - edge, place)); redraw();
  }
  function balance() {
    const r = c.ranges.find((x) => x.id === draft?.id);
    if (!r || !draft.slices) return;
    const half = bytesBetween(draft.slices, r.lo, r.hi) / 2;
    let lo = r.lo, hi = r.hi;
    for (let i = 0; i < 30; i++) { const mid = (lo + hi) / 2; if (bytesBetween(draft.slices, r.lo, mid) < half) lo = mid; else hi = mid; }
    move(lo);
  }
  async function begin() {
    const r = chosen();
    if (!can) return;
    if (jobsOf(c).some((j) => !j.end && j.sources.includes(r.id))) { toast(`Range ${r.id} is moving already.`); return; }
    draft = { id: r.id, at: (r.lo + r.hi) / 2, slices: null };
    redraw(); fig.svg.querySelector('.handle')?.focus();
    try {
      const answer = await manage('GET', `${collPath(c.db, c.name)}/logical?top=1`, undefined, { signal: at.signal });
      if (draft?.id === r.id && answer.slices) { draft.slices = answer.slices; redraw(); }
    } catch { /* the line works without bytes */ }
  }
  const splitBody = () => (c.definition?.version === 1 && c.definition.kind === 'Hash' ? undefined : { at: hex(draft.at, 32) });
  async function commit() {
    if (!draft) return;
    const { id } = draft, body = splitBody();
    if (body) (c.splitAt ||= new Map()).set(id, draft.at);
    draft = null; redraw();
    await act(`ranges/${id}/split`, body, `Range ${id} begins to split.`);
  }
  /** One command to the ranges of this container, and of no other. */
  async function act(path, body, done) {
    try {
      await manage('POST', `${collPath(c.db, c.name)}/${path}`, body);
      toast(done);
      if (at.alive) { await refresh(c); }
    } catch (error) { toast(error.message, true); }
  }
  walk(fig.el, () => c.ranges, () => selected, pick);
  fig.el.addEventListener('keydown', (e) => {
    if (e.key === 's' && !draft) { e.preventDefault(); begin(); return; }
    if (!draft) { if (e.key === 'Escape') side.cancel(); return; }
    if (e.target.classList.contains('handle') && (e.key === 'ArrowLeft' || e.key === 'ArrowRight')) { e.stopImmediatePropagation(); e.preventDefault(); move(draft.at + (e.key === 'ArrowLeft' ? -1 : 1) / (e.shiftKey ? 2560 : 256)); }
    if (e.key === 'b') balance();
    if (e.key === 'Enter') { e.preventDefault(); commit(); }
    if (e.key === 'Escape') { draft = null; redraw(); fig.svg.querySelector('.strip')?.focus(); }
  }, true);
  const side = mapSide(at, { chosen, draft: () => draft, begin, commit, balance, splitBody, act, drop: () => { draft = null; redraw(); } });
  const jobs = jobsPanel(at);
  function redraw() { fig.redraw(); side.draw(); jobs.draw(); }
  const asTable = h('div', { class: 'scroll', hidden: true });
  const table = h('button', { type: 'button', class: 'btn tiny', 'aria-expanded': 'false', onclick: () => {
    asTable.hidden = !asTable.hidden; table.setAttribute('aria-expanded', String(!asTable.hidden));
    asTable.replaceChildren(rangesTable(c));
  } }, 'as table');
  root.append(h('div', { class: 'two' }, h('div', { class: 'col' },
    panel('Where are the data and the load?', h('span', { class: 'row dim small' }, h('span', {}, 'Time falls through the ', word('lineage'), '; the strip is now.'), table), fig.el, h('div', { class: 'under' }, legend()), asTable),
    jobs.el), side.el));
  redraw();
  if (can) offer(at, 'Split the selected range', 's', begin);
  world.listeners.add(() => {
    if (!side.isBusy()) side.draw();
    if (!jobs.isBusy()) jobs.draw();
    ticked = true; fig.redraw(); ticked = false;
  });
  world.layouts.add(() => {
    if (!at.alive) return;
    rows = lineage(c);
    if (!c.ranges.some((r) => r.id === selected)) { const r = rangeAt(c, where); if (r) { say(`Range ${selected} is now range ${r.id}.`); selected = r.id; } }
    if (draft && !c.ranges.some((r) => r.id === draft.id)) draft = null;
    fig.redraw(); if (!side.isBusy()) side.draw(); if (!jobs.isBusy()) jobs.draw();
  });
  // the hottest keys are not in the stream: they are asked for while somebody looks
  const timer = setInterval(() => { if (!world.paused && c.ranges.length <= 200 && document.visibilityState === 'visible') refresh(c).catch(() => {}); }, 5000);
  if (at.options.has('split')) begin();
  return () => clearInterval(timer);
}
// Limit: rows of the table; the strip has all.
const TABLE_MAX = 1000;
const rangesTable = (c) => h('table', { class: 'tbl' }, h('caption', { class: 'sr' }, 'Ranges'), h('thead', {}, h('tr', {}, ['range', 'from', 'to', 'load', 'RU/s', 'items', 'bytes', 'refused'].map((t) => h('th', { scope: 'col', class: t === 'range' ? '' : 'n' }, t)))),
  h('tbody', {}, c.ranges.slice(0, TABLE_MAX).map((r) => h('tr', {}, h('th', { scope: 'row' }, r.id), h('td', { class: 'n code' }, hex(r.lo)), h('td', { class: 'n code' }, hex(r.hi)), h('td', { class: 'n' }, `${int(r.load * 100)} %`), h('td', { class: 'n' }, r.budget ? int(r.budget) : '–'), h('td', { class: 'n' }, int(r.items)), h('td', { class: 'n' }, int(r.bytes)), h('td', { class: 'n' }, int(r.refused))))));
