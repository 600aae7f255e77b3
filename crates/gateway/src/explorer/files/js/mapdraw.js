// The parts of the Map's figure below the strip: moving fronts, bytes, and the split line that is being placed.
import { s, bytes, pct } from './dom.js';
import { hex } from './world.js';

export const BAND = 54, BAR = 112;
const STEPS = ['reserve', 'copy', 'catch-up', 'fence', 'cut-over', 'reclaim'];

/** Where the copy of a relocation has come to; it glides from where it was a second ago, and nothing else moves. */
export function drawFront(ctx, c, y, job, ticked) {
  const from = c.ranges.filter((r) => job.sources.includes(r.id));
  if (!from.length) return;
  const lo = Math.min(...from.map((r) => r.lo)), hi = Math.max(...from.map((r) => r.hi)), x0 = ctx.x(lo), x1 = ctx.x(hi), done = job.progress ?? 0;
  const point = job.at ?? c.splitAt?.get(job.sources[0]), split = job.kind === 'split' && typeof point === 'number', at = split ? ctx.x(point) : x1, front = x0 + (x1 - x0) * done, lane = y + BAND + 5;
  const was = ticked && job.prev !== undefined ? x0 + (x1 - x0) * job.prev : front;
  const glide = (a, b, start) => (b > start + 1 && a < b ? { '--from': String(Math.max(0, (Math.max(a, start) - start) / (b - start))) } : {});
  ctx.add(s('rect', { class: 'lane', x: x0 + .5, y: lane, width: Math.max(1, at - x0 - 1), height: 9 }), split ? s('rect', { class: 'lane', x: at + .5, y: lane, width: Math.max(1, x1 - at - 1), height: 9 }) : null,
    s('rect', { class: 'copied', css: glide(Math.min(was, at), Math.min(front, at), x0), x: x0 + .5, y: lane, width: Math.max(0, Math.min(front, at) - x0 - 1), height: 9 }),
    split ? s('rect', { class: 'copied', css: glide(was, front, at), x: at + .5, y: lane, width: Math.max(0, front - at - 1), height: 9 }) : null);
  if (split) { const down = (BAND + 16) * Math.max(.12, done); ctx.add(s('line', { class: 'halo', x1: at, x2: at, y1: y, y2: y - 2 + down }), s('line', { class: 'growing', x1: at, x2: at, y1: y - 2, y2: y - 2 + down })); }
  ctx.add(s('line', { class: 'front', css: { '--dx': `${was - front}px` }, x1: front, x2: front, y1: y + BAND + 2, y2: lane + 12 }),
    s('text', { class: 'lab you', x: ctx.W + 10, y: lane + 8 }, `${job.sources.join(' + ')}${job.targets.length ? ` → ${job.targets.join(' + ')}` : ''}, ${job.step === 'copy' ? pct(done) : job.step}`));
  if (split && job.targets.length === 2 && x1 - x0 > 40) ctx.add(s('text', { class: 'rid you', x: x0 + 4, y: lane + 20 }, job.targets[0]), s('text', { class: 'rid you', x: at + 5, y: lane + 20 }, job.targets[1]));
}
export const stepIndex = (step) => STEPS.indexOf(step);
export { STEPS };

/** Bars of bytes under the strip, to a common scale; dashes are the size at which a range splits. */
export function drawBytes(ctx, c, y, limit, draft) {
  const top = Math.max(1, ...c.ranges.map((r) => r.bytes)), shows = limit && top > limit / 20, scale = BAR / ((shows ? limit : top) * 1.12);
  if (shows) { const lim = y + BAR - limit * scale; ctx.add(s('line', { class: 'limit', x1: 0, x2: ctx.W, y1: lim, y2: lim })); ctx.right(lim + 4, `splits at ${bytes(limit)}`); ctx.left(lim + 4, bytes(limit), 'dim'); }
  else { if (top > 1) ctx.left(y + BAR - top * scale + 4, bytes(top), 'dim'); if (limit) ctx.right(y + BAR - top * scale + 4, `splits at ${bytes(limit)}`, 'dim'); }
  ctx.left(y + BAR + 1, '0', 'dim');
  let thin = '';
  for (const r of c.ranges) {
    const x = ctx.x(r.lo), w = ctx.x(r.hi) - x, hh = r.bytes * scale;
    if (w < 4) { thin += `M${x} ${y + BAR}v${-hh}h${w}v${hh}z`; continue; }
    const splitting = draft?.id === r.id && draft.slices;
    ctx.add(s('rect', { class: splitting ? 'bar faint' : 'bar', x: x + .5, y: y + BAR - hh, width: w - 1, height: hh }));
    if (w > 24 && !splitting) { const text = bytes(r.bytes); ctx.add(s('text', { class: 'val', x: x + w / 2, y: y + BAR - hh - 5, 'text-anchor': 'middle' }, w > 46 ? text : text.split(' ')[0])); }
  }
  if (thin) ctx.add(s('path', { class: 'bar', d: thin }));
  ctx.add(s('line', { class: 'base', x1: 0, x2: ctx.W, y1: y + BAR + .5, y2: y + BAR + .5 }));
  return scale;
}

/** Bytes of a range left of a place, from the slices of the hash space that the server counted. */
export function bytesBetween(slices, lo, hi) {
  let n = 0;
  for (let i = Math.max(0, Math.floor(lo * 256)); i < 256 && i / 256 < hi; i++) n += slices[i] * Math.max(0, Math.min((i + 1) / 256, hi) - Math.max(i / 256, lo)) * 256;
  return n;
}
export function drawDraft(ctx, c, yTop, yBar, scale, draft, move) {
  const r = c.ranges.find((x) => x.id === draft.id);
  if (!r) return;
  const at = ctx.x(draft.at), all = draft.slices ? bytesBetween(draft.slices, r.lo, r.hi) : 0, share = all ? bytesBetween(draft.slices, r.lo, draft.at) / all : null, left = share === null ? null : r.bytes * share;
  if (draft.slices) {
    const a = Math.floor(r.lo * 256), b = Math.ceil(r.hi * 256), top = Math.max(1, ...draft.slices.slice(a, b));
    for (let i = a; i < b; i++) { const hh = Math.max(1.5, (draft.slices[i] / top) * r.bytes * scale * .92), lo = Math.max(r.lo, i / 256), hi = Math.min(r.hi, (i + 1) / 256), x = ctx.x(lo); ctx.add(s('rect', { class: (lo + hi) / 2 < draft.at ? 'slice' : 'slice alt', x: x + .25, y: yBar + BAR - hh, width: Math.max(.8, ctx.x(hi) - x - .6), height: hh })); }
  }
  const tell = left === null ? 'the server counts the bytes' : `left ${bytes(left)}, right ${bytes(r.bytes - left)}`;
  const handle = s('g', { class: 'handle', tabindex: 0, 'data-keep': 'handle', role: 'slider', 'aria-label': `Split point of range ${r.id}`, 'aria-valuemin': 0, 'aria-valuemax': 256, 'aria-valuenow': Math.round(draft.at * 256), 'aria-valuetext': `${hex(draft.at)}: ${tell}` },
    s('rect', { class: 'grab', x: at - 9, y: yTop - 16, width: 18, height: yBar + BAR - yTop + 20 }), s('line', { x1: at, x2: at, y1: yTop - 4, y2: yBar + BAR }), s('path', { d: `M${at - 6} ${yTop - 13}h12v6l-6 6l-6 -6z` }));
  handle.addEventListener('pointerdown', (e) => {
    e.preventDefault();
    const box = handle.ownerSVGElement.getBoundingClientRect(), slide = (ev) => move((ev.clientX - box.left - ctx.gl) / ctx.W), end = () => { removeEventListener('pointermove', slide); removeEventListener('pointerup', end); removeEventListener('pointercancel', end); };
    addEventListener('pointermove', slide); addEventListener('pointerup', end); addEventListener('pointercancel', end);
  });
  ctx.add(handle);
  if (left === null) return;
  const wide = 188, x = Math.max(0, Math.min(ctx.W - wide, at - wide / 2)), y = yBar - 20;
  ctx.add(s('g', { class: 'tag' }, s('rect', { x, y, width: wide, height: 34, rx: 4 }),
    s('text', { x: x + 10, y: y + 14 }, bytes(left)), s('text', { class: 'sub', x: x + 10, y: y + 27 }, `left, ${pct(share)}`),
    s('text', { x: x + wide / 2, y: y + 20, 'text-anchor': 'middle', class: 'code' }, hex(draft.at)),
    s('text', { x: x + wide - 10, y: y + 14, 'text-anchor': 'end' }, bytes(r.bytes - left)), s('text', { class: 'sub', x: x + wide - 10, y: y + 27, 'text-anchor': 'end' }, `right, ${pct(1 - share)}`)));
}
