// The cost picture of a query: an equation that adds up to the charge, one bar of it, and the same by range under the lit strip.
import { h, s, int, dec, word, shown, plural, bytes } from './dom.js';
import { axisFigure, axis, strip } from './strip.js';

/** Parts by what one gets for them: hatch is asking, grey is reading, blue is what came back. */
const KINDS = { fee: ['asking ranges', ['visit', 'functions', 'lookUps']], read: ['reading', ['items', 'foundItems', 'itemBytes', 'entries']], rows: ['sending rows', ['rowBytes', 'rowProperties']] };
const HOW = { visit: (n) => plural(n, 'range'), functions: (n) => `your functions in ${plural(n, 'range')}`, lookUps: (n) => plural(n, 'look-up'), items: (n) => plural(n, 'item'), foundItems: (n) => `${int(n)} by the index`, itemBytes: (n) => bytes(n), entries: (n) => plural(n, 'index entry', 'index entries'), rowBytes: (n) => bytes(n), rowProperties: (n) => plural(n, 'property', 'properties') };
const ru = (c) => dec(c / 100, 2);

/** Exact parts to hundredths whose sum is the whole: what is left of rounding goes to the largest remainders. */
function rounded(exact, total) {
  const out = exact.map(Math.floor), order = exact.map((v, i) => [v - Math.floor(v), i]).sort((a, b) => b[0] - a[0]);
  let left = Math.round(total - out.reduce((a, b) => a + b, 0));
  for (let k = 0; left > 0 && order.length; k += 1, left -= 1) out[order[k % order.length][1]] += 1;
  return out;
}
/** The three kinds of a list of parts, in hundredths that add up to `total` (hundredths). */
function grouped(parts, perUnit, total) {
  const names = Object.keys(KINDS), of = (kind) => parts.filter((p) => KINDS[kind][1].includes(p.name) || (kind === 'read' && !Object.values(KINDS).some(([, list]) => list.includes(p.name))));
  const exact = names.map((kind) => of(kind).reduce((n, p) => n + p.chargeParts, 0) / perUnit * 100), fitted = rounded(exact, total);
  return names.map((kind, i) => ({ kind, label: KINDS[kind][0], charge: fitted[i], how: of(kind).filter((p) => p.chargeParts && p.name !== 'foundItems').map((p) => (HOW[p.name] || ((n) => `${int(n)} ${p.name}`))(p.count)).join(', ') }));
}
/** What the server says of a plan or of a run, in the shape that is drawn; charges are hundredths. */
export function costOf(c, told) {
  const a = told.analyze, one = a?.partsPerUnit || 1, total = a ? Math.round(a.pages.reduce((n, p) => n + Math.round(Number(p.charge) * 100), 0)) : 0;
  const exactParts = a ? a.parts.reduce((n, p) => n + p.chargeParts, 0) : 0;
  const fit = a ? rounded(a.ranges.map((r) => r.chargeParts / one * 100), total) : [];
  // ranges that the server has read as one may be told as one without an id: their bars are left out, the sum is not
  const by = new Map(a ? a.ranges.map((r, i) => [r.id, { charge: fit[i], parts: grouped(r.parts, one, fit[i]) }]) : []);
  const ids = a && a.ranges.every((r) => r.id !== null) ? a.ranges.map((r) => r.id) : told.ranges.map((r) => r.id);
  const per = ids.map((id) => ({ id, r: c.ranges.find((x) => x.id === id), charge: 0, parts: [], ...by.get(id) }));
  const sum = (name) => (a ? a[name] ?? a.ranges.reduce((n, r) => n + (r[name] ?? 0), 0) : 0);
  return { per, ran: Boolean(a), isMerged: Boolean(a?.isMerged), parts: a ? grouped(a.parts, one, total) : [], total, isExact: a ? exactParts === a.chargeParts && a.ranges.reduce((n, r) => n + r.chargeParts, 0) === a.chargeParts : false, isComplete: a ? a.isComplete : true,
    read: sum('items'), rows: a ? a.pages.reduce((n, p) => n + p.rows, 0) : 0, ms: a?.totalMs ?? a?.ms ?? 0, inAll: told.rangesInAll ?? c.ranges.length, index: told.index, needsMerge: told.needsMerge };
}

export function costFigure(c, get) {
  return axisFigure({ label: 'Cost by range', height: 158, draw(ctx) {
    const cost = get();
    if (!cost) return;
    const lit = new Set(cost.per.map((x) => x.id)), top = Math.max(...cost.per.map((x) => x.charge), 500), y0 = 54, hh = 84, known = cost.ran;
    strip(ctx, 6, 22, c.ranges, { lit, mode: 'asked', uid: 'query' });
    ctx.left(21, 'asked'); ctx.right(21, `${cost.per.length} of ${plural(cost.inAll, 'range')}`);
    for (const v of [0, .5, 1]) { const y = y0 + hh - v * hh * .94; ctx.add(s('line', { class: 'grid', x1: 0, x2: ctx.W, y1: y + .5, y2: y + .5 })); ctx.left(y + 4, v === 0 ? '0' : dec((top * v) / 100, 1), 'dim'); }
    ctx.right(y0 + hh * .06 + 4, known ? 'RU by range' : 'not run', known ? '' : 'dim');
    const thin = { fee: '', read: '', rows: '' };
    for (const p of cost.per) {
      if (!p.r) continue;
      const x0 = ctx.x(p.r.lo), w = ctx.x(p.r.hi) - x0, bw = Math.min(34, Math.max(w < 5 ? w : 5, w - 8)), x = x0 + (w - bw) / 2; let y = y0 + hh;
      if (w > 12) ctx.add(s('line', { class: 'drop', x1: x + bw / 2, x2: x + bw / 2, y1: 37, y2: y0 + hh - (p.charge / top) * hh * .94 - (w > 30 ? 13 : 2) }));
      for (const kind of ['fee', 'read', 'rows']) {
        const v = p.parts.find((q) => q.kind === kind)?.charge || 0, k = (v / top) * hh * .94;
        if (!v) continue;
        y -= k;
        if (w < 12) thin[kind] += `M${x} ${y + .5}h${bw}v${Math.max(.8, k - 1)}h${-bw}z`; else ctx.add(s('rect', { class: `part-${kind}`, x, y: y + .5, width: bw, height: Math.max(.8, k - 1) }));
      }
      if (w > 30 && p.charge) ctx.add(s('text', { class: 'val', x: x + bw / 2, y: y - 3, 'text-anchor': 'middle' }, ru(p.charge)));
    }
    for (const [kind, d] of Object.entries(thin)) if (d) ctx.add(s('path', { class: `part-${kind}`, d }));
    axis(ctx, y0 + hh + 1);
  } });
}

/** The equation and the bar. */
export function costSum(cost, before) {
  const parts = cost.parts.filter((p) => p.charge);
  let x = 0;
  return [
    h('div', { class: 'sum' }, parts.map((p, i) => [i ? h('span', { class: 'op' }, '+') : null, h('div', { class: 'term' }, s('svg', { width: 12, height: 12, class: 'sw', 'aria-hidden': 'true' }, s('rect', { class: `part-${p.kind}`, width: 12, height: 12 })), h('div', {}, h('b', {}, ru(p.charge)), h('span', {}, p.label), h('span', { class: 'dim' }, p.how)))]), parts.length ? h('span', { class: 'op' }, '=') : null,
      h('div', { class: 'term total' }, h('div', {}, h('b', {}, ru(cost.total), ' ', word('RU')), h('span', {}, cost.isComplete ? 'charged' : 'charged so far'), before !== null && before !== undefined ? h('span', { class: 'better' }, `was ${ru(before)} RU`) : h('span', { class: 'dim' }, cost.isExact ? 'adds up exactly' : 'the parts do not add up')))),
    h('div', { class: 'stack', role: 'img', 'aria-label': `Charge ${ru(cost.total)} RU: ${parts.map((p) => `${p.label} ${ru(p.charge)}`).join(', ')}` }, s('svg', { width: '100%', height: 12 }, parts.map((p) => { const w = (p.charge / Math.max(1, cost.total)) * 100, r = s('rect', { class: `part-${p.kind}`, x: `${x}%`, width: `${Math.max(.3, w - .2)}%`, height: 12 }); x += w; return r; })))];
}

/** Items read against rows returned, the index, and why so many ranges were asked. */
export function costWhy(c, cost, { addIndex, busy }) {
  const max = Math.max(cost.read, cost.rows, 1), ratio = cost.read / Math.max(1, cost.rows), ix = cost.index || {}, comp = (list) => (list || []).map((p) => `(${p.join(', ')})`);
  const used = [...(ix.utilized || []), ...comp(ix.utilizedComposites)], help = [...(ix.potential || []).map((p) => ({ path: p, text: p })), ...(ix.potentialComposites || []).map((p) => ({ composite: p, text: `(${p.join(', ')})` }))];
  const codes = (list) => list.map((t) => [h('code', {}, shown(t, 120)), ' ']);
  return h('div', { class: 'why' },
    h('div', {}, h('h3', {}, 'Items read for rows returned'), h('div', { class: 'ratio' }, [['read', cost.read, 'read'], ['returned', cost.rows, 'rows']].map(([t, n, k]) => [h('span', {}, t), s('svg', { width: '100%', height: 12, 'aria-hidden': 'true' }, s('rect', { class: `part-${k}`, width: `${n ? Math.max(.6, (n / max) * 100) : 0}%`, height: 12 })), h('b', {}, int(n))])), h('p', { class: 'dim' }, cost.read === 0 ? (cost.rows ? 'No item was read: the index alone answered.' : 'Nothing was read.') : ratio > 2 ? `${dec(ratio, 0)} items are read for each row that is returned.` : 'Nearly every item that is read is returned.')),
    h('div', {}, h('h3', {}, 'Index'), used.length ? h('p', {}, 'used ', codes(used)) : h('p', {}, 'No index was used: every item of the ranges is a candidate.'),
      help.length ? [h('p', {}, 'would help ', codes(help.map((x) => x.text))), h('div', { class: 'row' }, help.slice(0, 3).map((x) => h('button', { type: 'button', class: 'btn primary', disabled: busy || !addIndex, onclick: () => addIndex(x) }, help.length === 1 ? 'Add this index' : `Add ${shown(x.text, 40)}`)))] : h('p', { class: 'dim' }, 'Nothing would help more.')),
    h('div', {}, h('h3', {}, 'Ranges'), cost.per.length < cost.inAll ? h('p', {}, `The filter names a key, so ${cost.per.length} of ${cost.inAll} ranges ${cost.per.length === 1 ? 'is' : 'are'} asked. More ranges will not make it dearer.`) : cost.inAll === 1 ? h('p', {}, 'There is one range. With more, a query without the key asks each of them.') : h('p', {}, 'The filter does not pin ', h('code', {}, shown(c.key, 60)), `, so every range is asked. Each split makes this query dearer.`)));
}
