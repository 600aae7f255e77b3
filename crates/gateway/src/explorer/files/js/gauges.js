// Budget gauges on the hash axis: what is left of each range's second, and its debt below zero.
import { int, s } from './dom.js';
import { axisFigure, axis, strip } from './strip.js';
import { RANGE_RU_MAX } from './world.js';

const H = 116, ZERO = 82;

export function gauges(c, { selected, pick }) {
  return axisFigure({ label: 'Budget gauges', height: 26 + H + 50, draw(ctx) {
    const y0 = 18, tops = { bar: '', debt: '' };
    for (const [v, t] of [[1, 'full'], [.5, '50 %'], [0, 'empty']]) { const y = y0 + ZERO - v * ZERO; ctx.add(s('line', { class: v ? 'grid' : 'base', x1: 0, x2: ctx.W, y1: y + .5, y2: y + .5 })); ctx.left(y + 4, t, 'dim'); }
    ctx.left(y0 + ZERO + 20, 'debt', 'dim');
    ctx.right(y0 + 4, c.hasBudget ? 'left this second' : 'of 10,000 RU/s'); ctx.right(y0 + ZERO + 20, 'to pay first');
    ctx.add(s('rect', { class: 'well', x: 0, y: y0, width: ctx.W, height: ZERO }));
    for (const r of c.ranges) {
      const budget = r.budget || RANGE_RU_MAX, rest = r.left ?? budget - (r.seconds.at(-1) || 0), left = Math.max(0, Math.min(1, rest / budget)), debt = Math.max(0, -rest / budget), x = ctx.x(r.lo) + .5, w = Math.max(.6, ctx.x(r.hi) - ctx.x(r.lo) - 1), deep = Math.min(H - ZERO, debt * 110);
      if (w < 4) { tops.bar += `M${x} ${y0 + ZERO}v${-left * ZERO}h${w}v${left * ZERO}z`; if (debt) tops.debt += `M${x} ${y0 + ZERO + 1}v${deep}h${w}v${-deep}z`; continue; }
      ctx.add(s('rect', { class: 'bar', x, y: y0 + ZERO - left * ZERO, width: w, height: left * ZERO }));
      if (debt) ctx.add(s('rect', { class: 'debt-solid', x, y: y0 + ZERO + 1, width: w, height: deep }), s('rect', { class: 'debt', x, y: y0 + ZERO + 1, width: w, height: deep }));
      const amount = debt ? `−${int(-rest)}` : int(rest);
      if (w > 30) ctx.add(s('text', { class: debt ? 'val owed' : 'val', x: x + w / 2, y: y0 + ZERO - left * ZERO - 4, 'text-anchor': 'middle' }, w > 66 ? `${amount} RU` : amount));
    }
    if (tops.bar) ctx.add(s('path', { class: 'bar', d: tops.bar }));
    if (tops.debt) ctx.add(s('path', { class: 'debt-solid', d: tops.debt }));
    strip(ctx, y0 + H + 6, 24, c.ranges, { uid: 'live', selected: selected(), pick });
    ctx.left(y0 + H + 22, 'ranges', 'dim');
    axis(ctx, y0 + H + 32);
  } });
}
