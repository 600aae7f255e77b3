// The hash strip: the same horizontal axis on every screen, 00 on the left, 3F on the right.
import { h, s, pct, css } from './dom.js';
import { hex } from './world.js';

/** Bands of load: absolute, 100 % is the budget of the range. */
export const BANDS = [0, .01, .1, .25, .5, .75, .9, 1];
export const BAND_TEXT = ['idle', '1', '10', '25', '50', '75', '90', '100'];
export const band = (load) => { let b = 0; while (b < 7 && load >= BANDS[b + 1]) b++; return b; };
export const heatFill = (load) => `heat-${band(load)}`;
export const heatInk = (load) => `ink-${band(load)}`;

/** A figure on the hash axis: gutters left and right are the same on every screen. */
export function axisFigure({ height, draw, label, cls = '' }) {
  const svg = s('svg', { class: 'fig', role: 'group', 'aria-label': label });
  const el = h('div', { class: `figbox ${cls}` }, svg);
  let width = 0, areas = [], origin = 0;
  // picking listens here and not on the cells: a redraw between press and release must not lose it
  svg.addEventListener('pointerdown', (e) => {
    if (e.target.closest('.handle')) return;
    const box = svg.getBoundingClientRect(), x = e.clientX - box.left - origin, y = e.clientY - box.top;
    for (const a of areas) if (y >= a.y && y <= a.y + a.height && x >= 0 && x < a.W) { const r = a.ranges.find((k) => x / a.W < k.hi); if (r) a.pick(r.id); }
  });
  const redraw = () => {
    if (!width) return;
    const gl = parseInt(css('--gut-l'), 10), gr = parseInt(css('--gut-r'), 10), W = Math.max(120, width - gl - gr), H = typeof height === 'function' ? height() : height;
    svg.setAttribute('width', width); svg.setAttribute('height', H);
    const g = s('g', { transform: `translate(${gl} 0)` });
    areas = []; origin = gl;
    const ctx = { W, H, gl, gr, g, area: (a) => areas.push({ ...a, W }), x: (p) => Math.round(p * W * 4) / 4,
      left: (y, text, c = '') => g.append(s('text', { class: `lab end ${c}`, x: -10, y }, text)),
      right: (y, text, c = '') => g.append(s('text', { class: `lab ${c}`, x: W + 10, y }, text)),
      add: (...nodes) => g.append(...nodes) };
    draw(ctx);
    const keep = svg.contains(document.activeElement) && document.activeElement.dataset.keep; // a redraw must not lose the focus
    svg.replaceChildren(g);
    if (keep) svg.querySelector(`[data-keep="${CSS.escape(keep)}"]`)?.focus({ preventScroll: true });
  };
  new ResizeObserver(([e]) => { const w = Math.floor(e.contentRect.width); if (w !== width) { width = w; redraw(); } }).observe(el);
  return { el, svg, redraw };
}

export function axis(ctx, y) {
  const step = ctx.W > 420 ? 8 : 16;
  for (let v = 0; v <= 64; v += step) {
    const x = ctx.x(v / 64);
    ctx.add(s('line', { class: 'tick', x1: x, x2: x, y1: y, y2: y + 4 }),
      s('text', { class: 'axis', x, y: y + 15, 'text-anchor': v === 0 ? 'start' : v === 64 ? 'end' : 'middle' }, v === 64 ? '3F…' : v.toString(16).toUpperCase().padStart(2, '0')));
  }
  ctx.left(y + 15, 'hash', 'dim');
}

/**
 * The band of ranges. Colour is load, the number says it again, a hatch means refused requests.
 * mode 'asked': blue ranges were asked by a query (lit), load moves to a line below; selected: blue bracket.
 */
export function strip(ctx, y, height, ranges, { selected, lit, pick, label = 'id', mode = 'load', uid = 's' } = {}) {
  const busy = ranges.reduce((a, b) => (b.load > a.load ? b : a), ranges[0]);
  const box = s('g', pick ? { class: 'strip', role: 'listbox', tabindex: 0, 'data-keep': uid, 'aria-label': 'Ranges on the hash axis', 'aria-activedescendant': ranges.some((r) => r.id === selected) ? `${uid}-${selected}` : null } : { class: 'strip', role: 'img', 'aria-label': `${ranges.length} ranges, busiest is ${busy.id} with ${pct(busy.load)} of its budget` });
  if (pick) ctx.area({ y, height, ranges, pick });
  const thin = Array.from({ length: 8 }, () => ''); // below 4 px a cell is part of one path for its band
  for (const r of ranges) {
    const x0 = ctx.x(r.lo), wide = ctx.x(r.hi) - x0;
    if (mode === 'load' && wide < 4 && r.id !== selected) { thin[band(r.load)] += `M${x0} ${y}h${wide}v${height}h${-wide}z`; continue; }
    const x = ctx.x(r.lo) + .5, w = Math.max(1, ctx.x(r.hi) - ctx.x(r.lo) - 1), on = !lit || lit.has(r.id);
    const cell = s('g', { class: `cell${on ? '' : ' off'}`, id: `${uid}-${r.id}`, role: pick && 'option', 'aria-selected': pick && String(selected === r.id), 'aria-label': pick && `range ${r.id} ${pct(r.load)} of budget, ${hex(r.lo)} to ${hex(r.hi)}${r.refused ? ', refuses requests' : ''}` },
      s('rect', { class: !on ? 'unlit' : mode === 'asked' ? 'lit' : heatFill(r.load), x, y, width: w, height }));
    if (mode === 'asked') cell.append(s('rect', { class: heatFill(r.load), x, y: y + height + 2, width: w, height: 4 }));
    if (on && r.refused && mode !== 'asked') cell.append(s('rect', { class: 'refused', x, y, width: w, height }));
    const ink = mode === 'asked' ? (on ? 'ink-you' : 'ink-off') : heatInk(r.load), tall = height > 36, value = pct(r.load), tight = w < 60;
    if (on && r.refused && w > 20 && mode !== 'asked') cell.append(s('rect', { class: heatFill(r.load), x: x + 3, y: y + 3, width: Math.min(w - 6, tall ? (tight ? 36 : 50) : label === 'id' ? 22 : 32), height: height - 6 }));
    if (tall) {
      if (w > 16) cell.append(s('text', { 'aria-hidden': 'true', class: `rid ${ink}`, x: x + 6, y: y + 15 }, r.id), ' ');
      if (w > 30) cell.append(s('text', { 'aria-hidden': 'true', class: `num ${ink}${tight ? ' tight' : ''}`, x: x + 6, y: y + height - 9 }, w < 44 ? value.replace(' %', '') : value), ' ');
    } else if (label === 'load' && w > 28) cell.append(s('text', { 'aria-hidden': 'true', class: `slim ${ink}`, x: x + 5, y: y + height / 2 + 4 }, w < 44 ? value.replace(' %', '') : value));
    else if (label === 'id' && w > 16) cell.append(s('text', { 'aria-hidden': 'true', class: `rid ${ink}`, x: x + 6, y: y + height / 2 + 4 }, r.id));
    box.append(cell);
  }
  thin.forEach((d, i) => { if (d) box.append(s('path', { class: `heat-${i}`, d })); });
  if (mode === 'load') box.append(s('rect', { class: 'outline', x: -.5, y: y - .5, width: ctx.W + 1, height: height + 1 }));
  const chosen = ranges.find((r) => r.id === selected);
  if (chosen) {
    const x = ctx.x(chosen.lo), w = ctx.x(chosen.hi) - x;
    box.append(s('rect', { class: 'chosen', x: x - .5, y: y - 2.5, width: w + 1, height: height + 5, rx: 2 }));
  }
  ctx.add(box);
}

/** A few pixels high, for tables and the rail. */
export function mini(ranges, height = 8) {
  const svg = s('svg', { class: 'mini', width: '100%', height, role: 'img', 'aria-label': `${ranges.length} ranges, busiest ${pct(Math.max(0, ...ranges.map((r) => r.load)))} of budget` });
  if (ranges.length > 200) return thinMini(svg, ranges, height);
  for (const r of ranges) svg.append(s('rect', { class: heatFill(r.load), x: `${r.lo * 100}%`, width: `${(r.hi - r.lo) * 100}%`, height }));
  for (const r of ranges.slice(1)) svg.append(s('line', { class: 'sep', x1: `${r.lo * 100}%`, x2: `${r.lo * 100}%`, y2: height }));
  return svg;
}

/** Many ranges: one path for each band, in a box of 1000 units. */
function thinMini(svg, ranges, height) {
  svg.setAttribute('viewBox', `0 0 1000 ${height}`); svg.setAttribute('preserveAspectRatio', 'none');
  const paths = Array.from({ length: 8 }, () => '');
  for (const r of ranges) paths[band(r.load)] += `M${(r.lo * 1000).toFixed(2)} 0h${((r.hi - r.lo) * 1000).toFixed(2)}v${height}h${-((r.hi - r.lo) * 1000).toFixed(2)}z`;
  paths.forEach((d, i) => { if (d) svg.append(s('path', { class: `heat-${i}`, d })); });
  return svg;
}

export function legend({ refused = true, text = 'of budget, busiest second' } = {}) {
  return h('div', { class: 'legend', role: 'img', 'aria-label': 'Colour scale: idle, 1, 10, 25, 50, 75, 90, 100 percent of budget' },
    h('div', { class: 'scale' }, BAND_TEXT.map((t, i) => h('span', {}, h('i', { class: `bg-${i}` }), h('b', {}, i === 0 ? 'idle' : i === 7 ? '≥ 100 %' : t)))),
    h('span', { class: 'dim' }, text),
    refused && h('span', { class: 'key' }, s('svg', { width: 18, height: 10, class: 'sw' }, s('rect', { class: 'heat-7', width: 18, height: 10 }), s('rect', { class: 'refused', width: 18, height: 10 })), 'refused (429)'));
}

/** Arrow keys walk the ranges of a focused strip. */
export function walk(el, ranges, get, set) {
  el.addEventListener('keydown', (e) => {
    const list = ranges(), i = list.findIndex((r) => r.id === get());
    const next = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: list.length - 1 }[e.key];
    if (next === undefined) return;
    e.preventDefault();
    set(list[Math.max(0, Math.min(list.length - 1, next))].id);
  });
}
