// Heat: is the load even, and when was it not?
import { h, s, int, pct, clock, when, css, word, button, seg, panel, kv, toast, dialog, save } from './dom.js';
import { world, hex, rangeAt } from './world.js';
import { axisFigure, axis, strip, legend, band } from './strip.js';
import { SPANS, METRICS, load, layers, rangeOf, causes, addMark } from './heatdata.js';
import { diagnose } from './diagnosis.js';
import { hotList } from './mapside.js';
import { keyLink, offer } from './palette.js';

const H = 468, TOP = 6, GLYPH = { mark: '◆', split: '┬', merge: '┴', move: '→' };

export default function heat(root, at) {
  const { c } = at;
  let span = SPANS[at.options.get('span')] ? at.options.get('span') : '1 h', grain = at.options.get('grain') === 'range' ? 'range' : 'slice', metric = METRICS.some(([m]) => m === at.options.get('metric')) ? at.options.get('metric') : 'all', log = false;
  let grid = null, data = null, cross = { x: 128, y: 0 }, pinned = false, zoom = null, brush = null, painted = '', ago = 0;
  const canvas = h('canvas', { class: 'grid-canvas', tabindex: 0, role: 'application', 'aria-roledescription': 'heat grid', 'aria-label': 'Heat, time by hash. Arrow keys move the crosshair; the side panel says what is there.' });
  const over = h('div', { class: 'heatover' }, canvas), side = h('aside', { class: 'col side', 'aria-label': 'Crosshair' }), table = h('div', { class: 'scroll', hidden: true }), diagnosis = h('p', { class: 'diagnosis', role: 'status' });
  const msOf = (y) => (data.from + y * data.seconds) * 1000, label = (y) => (span === '7 d' ? when(msOf(y)) : clock(msOf(y)));
  const view = () => zoom || { x0: 0, x1: 256, y0: 0, y1: data.rows };
  /** Colours are absolute: the share of the budget. On request in steps of ten, so that light load shows its shape too. */
  const shade = (v) => (log ? (v <= 0 ? 0 : Math.max(1, Math.min(7, Math.round(7 + Math.log10(v) * 1.75)))) : band(v));

  function paint(W) {
    const v = view(), key = [W, span, grain, metric, log, css('--bg'), devicePixelRatio, data.to, JSON.stringify(v), c.ranges.length, ago].join();
    if (key === painted) return; // moving the crosshair does not paint the grid again
    painted = key;
    const ratio = devicePixelRatio || 1, w = Math.round(W * ratio), hh = Math.round(H * ratio), nx = v.x1 - v.x0, ny = v.y1 - v.y0;
    canvas.width = w; canvas.height = hh; canvas.style.width = `${W}px`; canvas.style.height = `${H}px`;
    const g = canvas.getContext('2d'), colours = Array.from({ length: 8 }, (_, i) => css(`--heat-${i}`)), src = grain === 'slice' ? data.cell : data.whole;
    const X = (x) => Math.round(((x - v.x0) * w) / nx), Y = (y) => Math.round(((y - v.y0) * hh) / ny);
    g.fillStyle = colours[0]; g.fillRect(0, 0, w, hh);
    for (let y = v.y0; y < v.y1; y++) for (let x = v.x0; x < v.x1; x++) {
      const b = shade(src[y * 256 + x]);
      if (!b) continue;
      const wide = grain === 'slice' && b === 7 && nx > 200 ? Math.round(ratio) : 0; // a hot key is a hair line: a pixel wider, so that it never drowns
      g.fillStyle = colours[b]; g.fillRect(X(x) - wide, Y(y), X(x + 1) - X(x) + 2 * wide, Y(y + 1) - Y(y));
    }
    const dot = Math.round(2 * ratio), dark = css('--text'), light = css('--hatch'); // the second sign: a dot where requests were refused
    for (let y = v.y0; y < v.y1; y++) for (let x = v.x0; x < v.x1; x++) {
      if (!grid.refused[y * 256 + x]) continue;
      g.fillStyle = shade(src[y * 256 + x]) > 4 ? light : dark;
      g.fillRect(Math.round((X(x) + X(x + 1) - dot) / 2), Math.round((Y(y) + Y(y + 1) - dot) / 2), dot, dot);
    }
  }
  const fig = axisFigure({ label: 'Heat over time', height: H + 78, cls: 'heatfig', draw(ctx) {
    if (!data) return;
    over.style.left = `${ctx.gl}px`; over.style.top = `${TOP}px`; paint(ctx.W);
    const v = view(), X = (place) => ((place * 256 - v.x0) / (v.x1 - v.x0)) * ctx.W, Y = (y) => TOP + ((y - v.y0) * H) / (v.y1 - v.y0), yMs = (ms) => Y((ms / 1000 - data.from) / data.seconds), inside = (x) => x >= -1 && x <= ctx.W + 1, every = Math.max(1, Math.round((v.y1 - v.y0) / 7));
    for (let y = v.y0 + Math.floor(every / 2); y < v.y1; y += every) { if (Math.abs(Y(y) - Y(cross.y + .5)) > 13) ctx.left(Y(y) + 4, span === '7 d' ? when(msOf(y)).split(' ').slice(0, 2).join(' ') : label(y), 'dim'); ctx.add(s('line', { class: 'tick', x1: -5, x2: 0, y1: Y(y), y2: Y(y) })); }
    drawCuts(ctx, v, X, Y, yMs, inside);
    drawCauses(ctx, v, Y, yMs);
    ctx.left(TOP + H + 4, ago ? '' : 'now');
    const yb = TOP + H + 12;
    strip(ctx, yb, 26, c.ranges, { label: 'load', uid: 'heat', selected: rangeAt(c, (cross.x + .5) / 256)?.id });
    ctx.left(yb + 17, 'ranges', 'dim'); ctx.right(yb + 17, c.hasBudget ? '% of budget' : '% of 10,000', 'dim');
    axis(ctx, yb + 28);
    const cx = X((cross.x + .5) / 256), cy = Y(cross.y + .5);
    if (inside(cx) && cross.y >= v.y0 && cross.y < v.y1) ctx.add(s('g', { class: 'cross' }, s('line', { x1: 0, x2: ctx.W, y1: cy, y2: cy }), s('line', { x1: cx, x2: cx, y1: TOP, y2: zoom ? TOP + H : yb - 2 }), s('rect', { x: cx - 5, y: cy - 5, width: 10, height: 10 }),
      s('rect', { class: 'chip', x: -ctx.gl + 4, y: cy - 8, width: ctx.gl - 8, height: 16, rx: 3 }), s('text', { x: -10, y: cy + 4, 'text-anchor': 'end' }, clock(msOf(cross.y)))));
    if (brush?.moved) ctx.add(s('rect', { class: 'brush', x: Math.min(brush.x0, brush.x1), y: TOP + Math.min(brush.y0, brush.y1), width: Math.abs(brush.x1 - brush.x0), height: Math.abs(brush.y1 - brush.y0) }));
    if (zoom) ctx.right(TOP + H + 4, `zoom: ${hex(v.x0 / 256)} – ${hex(v.x1 / 256)}`, 'you');
  } });
  fig.el.append(over);
  /** Boundaries of ranges through time: each from its split on. Of a thousand, the picture keeps those that can be told apart. */
  function drawCuts(ctx, v, X, Y, yMs, inside) {
    let d = '', before = null;
    for (let y = v.y0; y < v.y1; y++) {
      const ranges = data.ranges[y];
      if (ranges === before) continue;
      before = ranges;
      let end = y; while (end < v.y1 && data.ranges[end] === ranges) end += 1;
      if (ranges.length <= 128) for (const r of ranges.slice(1)) { const x = X(r.lo); if (inside(x)) d += `M${x.toFixed(1)} ${Y(y).toFixed(1)}V${Y(end).toFixed(1)}`; }
    }
    if (d) ctx.add(s('path', { class: 'cut', d }));
    for (const k of causes(c)) if (k.begun && k.cut !== null && inside(X(k.cut)) && yMs(k.at) < TOP + H) ctx.add(s('line', { class: 'halo', x1: X(k.cut), x2: X(k.cut), y1: Math.max(TOP, yMs(k.at)), y2: TOP + H }), s('line', { class: 'cut begun', x1: X(k.cut), x2: X(k.cut), y1: Math.max(TOP, yMs(k.at)), y2: TOP + H }));
  }
  function drawCauses(ctx, v, Y, yMs) {
    const groups = [];
    for (const k of causes(c)) { const y = yMs(k.at); if (y < TOP || y > TOP + H) continue; const g = groups.at(-1); if (g && y - g.y < 12) g.list.push(k); else groups.push({ y, list: [k] }); }
    for (const { y, list } of groups) ctx.add(s('line', { class: 'leader', x1: ctx.W, x2: ctx.W + 9, y1: y, y2: y }), s('text', { class: 'lab cause', x: ctx.W + 13, y: y + 4 }, list.length === 1 ? `${GLYPH[list[0].kind] || '·'} ${list[0].text.slice(0, 17)}` : `${list.length} from ${clock(list[0].at)}`));
  }
  const rowName = () => ({ '1 h': 'in this minute', '24 h': 'in these 5 minutes', '7 d': 'in this hour' }[span]);
  function drawSide() {
    if (!data) return;
    const i = cross.y * 256 + cross.x, then = rangeOf(data, cross.x, cross.y), r = rangeAt(c, (cross.x + .5) / 256), n = grid.refused[i], had = side.contains(document.activeElement) ? document.activeElement.textContent : null, list = causes(c).filter((k) => k.at >= data.from * 1000 && k.at <= data.to * 1000).reverse();
    side.replaceChildren(panel(pinned ? 'Pinned' : 'At the crosshair', h('span', { class: 'dim' }, when(msOf(cross.y))),
      kv([[word('epk', 'hash'), h('span', { class: 'code' }, `${hex(cross.x / 256)} – ${hex((cross.x + 1) / 256)}`)], ['range then', [`${then?.id}, `, h('b', { class: data.whole[i] >= 1 ? 'bad' : '' }, metric === 'refused' ? '–' : pct(data.whole[i])), metric === 'refused' ? '' : ' of its budget']], [word('slice', 'this slice'), metric === 'refused' ? '' : [`${int(data.ru[i])} RU/s, `, pct(data.cell[i]), ' of its part']], ['reads, writes', `${int(grid.read[i])}, ${int(grid.write[i])} RU`], [word('429', 'refused'), n ? h('b', { class: 'bad' }, `${int(n)} ${rowName()}`) : 'none']]),
      h('h3', {}, `Hottest keys of range ${r?.id} now`), r ? hotList(c, r, 4) : null, h('p', { class: 'dim small' }, 'Share of what the range spent lately. Keys below 1/64 of it may be missing.'),
      h('div', { class: 'row' }, button(pinned ? 'Unpin' : 'Pin', pin, { key: 'Enter' }), button(zoom ? 'Zoom out' : 'Zoom', zoomRange, { key: 'z' }))),
    panel('What happened?', null, list.length ? h('ul', { class: 'log' }, list.slice(0, 12).map((k) => h('li', {}, h('time', {}, when(k.at)), h('div', {}, `${GLYPH[k.kind] || '·'} ${k.text}${k.why ? `, by ${k.why}` : ''}`)))) : h('p', { class: 'none' }, 'No range was split, merged or moved in this span, and no mark was made.'),
      h('div', { class: 'row' }, button('Add a mark', mark, { key: 'm' }))));
    if (had !== null) [...side.querySelectorAll('button')].find((b) => b.textContent === had)?.focus();
  }
  function drawDiagnosis() {
    const d = diagnose(c, metric === 'all' ? data : layers(c, grid, 'all'));
    diagnosis.classList.toggle('calm', !d || Boolean(d.calm));
    diagnosis.replaceChildren(...(d ? [h('b', {}, d.text), d.tail || '', ...(d.slice === undefined ? [] : [' ', h('button', { type: 'button', class: 'link', onclick: () => set(d.slice, d.row) }, 'Show it')]), ...(d.key ? [' · ', h('span', {}, keyLink(c, d.key, ''), ' on Keys')] : [])] : []));
  }
  const redraw = () => { fig.redraw(); drawSide(); };
  const set = (x, y) => { const v = view(); cross = { x: Math.max(v.x0, Math.min(v.x1 - 1, x)), y: Math.max(v.y0, Math.min(v.y1 - 1, y)) }; redraw(); };
  const pin = () => { pinned = !pinned; drawSide(); };
  function zoomRange() {
    if (zoom) zoom = null; else { const r = rangeAt(c, (cross.x + .5) / 256), x0 = Math.floor(r.lo * 256), half = Math.round(data.rows / 4); zoom = { x0, x1: Math.max(x0 + 4, Math.min(256, Math.ceil(r.hi * 256))), y0: Math.max(0, cross.y - half), y1: Math.min(data.rows, Math.max(cross.y + half, half * 2)) }; }
    redraw();
  }
  function mark() {
    const input = h('input', { type: 'text', class: 'wide', 'aria-label': 'Text of the mark', placeholder: 'deploy 2.4.1' }), add = () => { addMark(c, (input.value.trim() || 'mark').slice(0, 60)); box.close(); redraw(); toast(`Marked ${clock(Date.now())} on the time axis, in this browser.`); };
    const box = dialog('ask', 'Add a mark', h('form', { method: 'dialog', onsubmit: (e) => { e.preventDefault(); add(); } }, h('h2', { class: 'title' }, 'What happened just now?'), input, h('footer', { class: 'row' }, h('span', { class: 'grow' }), button('Cancel', () => box.close()), h('button', { class: 'btn primary', type: 'submit' }, 'Add'))));
    input.focus();
  }
  async function reload(keepZoom) {
    try {
      grid = await load(c, span, at.signal, ago);
      if (!at.alive) return;
      const fresh = !data || data.rows !== grid.rows;
      data = layers(c, grid, metric);
      if (fresh || !keepZoom) zoom = null;
      if (fresh) cross = { x: cross.x, y: data.rows - 1 };
      redraw(); drawDiagnosis();
    } catch (error) { if (error.name !== 'AbortError') toast(error.message, true); }
  }
  const place = (e) => { const b = canvas.getBoundingClientRect(), v = view(); return { px: e.clientX - b.left, py: e.clientY - b.top, x: v.x0 + Math.floor(((e.clientX - b.left) / b.width) * (v.x1 - v.x0)), y: v.y0 + Math.floor(((e.clientY - b.top) / b.height) * (v.y1 - v.y0)) }; };
  canvas.addEventListener('pointerdown', (e) => { const p = place(e); brush = { x0: p.px, y0: p.py, x1: p.px, y1: p.py, from: p, moved: false }; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener('pointermove', (e) => { if (!data) return; const p = place(e); if (brush) { brush.x1 = p.px; brush.y1 = p.py; brush.moved ||= Math.hypot(brush.x1 - brush.x0, brush.y1 - brush.y0) > 6; fig.redraw(); } else if (!pinned) set(p.x, p.y); });
  canvas.addEventListener('pointerup', (e) => {
    if (!brush) return;
    const b = brush, p = place(e); brush = null;
    if (!b.moved) { set(p.x, p.y); pin(); return; }
    const v = view(), lim = (n, lo, hi) => Math.max(lo, Math.min(hi, n));
    zoom = { x0: lim(Math.min(b.from.x, p.x), v.x0, v.x1 - 4), x1: lim(Math.max(b.from.x, p.x) + 1, v.x0 + 4, v.x1), y0: lim(Math.min(b.from.y, p.y), v.y0, v.y1 - 4), y1: lim(Math.max(b.from.y, p.y) + 1, v.y0 + 4, v.y1) };
    if (zoom.x1 - zoom.x0 < 4) zoom.x1 = zoom.x0 + 4; if (zoom.y1 - zoom.y0 < 4) zoom.y1 = zoom.y0 + 4;
    redraw();
  });
  canvas.addEventListener('keydown', (e) => {
    if (!data || e.ctrlKey || e.metaKey || e.altKey) return;
    const n = e.shiftKey ? 8 : 1, d = { ArrowLeft: [-n, 0], ArrowRight: [n, 0], ArrowUp: [0, -n], ArrowDown: [0, n] }[e.key];
    if (d) { e.preventDefault(); set(cross.x + d[0], cross.y + d[1]); }
    if (e.key === 'Enter') pin();
    const names = Object.keys(SPANS), to = e.key === ']' ? names[names.indexOf(span) + 1] : e.key === '[' ? names[names.indexOf(span) - 1] : null;
    if (to) choose(to);
    if (e.key === 'm') { e.preventDefault(); mark(); }
    if (e.key === 'z') zoomRange();
    if (e.key === 'Escape' && zoom) { zoom = null; redraw(); }
  });
  function choose(to) { span = to; at.remember({ span }); spanSeg.querySelectorAll('button').forEach((b) => b.setAttribute('aria-checked', String(b.dataset.value === span))); reload(); }
  const again = () => { if (grid) { data = layers(c, grid, metric); redraw(); } };
  function showTable() {
    table.hidden = !table.hidden;
    if (table.hidden || !data) return;
    const step = Math.ceil(data.rows / 12), rows = []; for (let y = data.rows - 1; y >= 0 && rows.length < 12; y -= step) rows.push(y);
    table.replaceChildren(h('table', { class: 'tbl' }, h('caption', { class: 'sr' }, 'Load by range and time'), h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'from'), c.ranges.slice(0, 40).map((r) => h('th', { class: 'n', scope: 'col' }, `range ${r.id}`)))), h('tbody', {}, rows.map((y) => h('tr', {}, h('th', { scope: 'row' }, label(y)), c.ranges.slice(0, 40).map((r) => h('td', { class: 'n' }, pct(data.whole[y * 256 + Math.min(255, Math.floor((r.lo + r.hi) * 128))]))))))));
  }
  function exportAll() { canvas.toBlob((blob) => save(`heat-${c.name}.png`, blob)); }
  const spanSeg = seg('Span', Object.keys(SPANS).map((k) => [k, k]), span, choose);
  const compare = button('A week ago', () => { ago = ago ? 0 : 7 * 86400; compare.setAttribute('aria-pressed', String(Boolean(ago))); reload(true); }, { title: 'The same span a week ago; the server keeps hours of seven days' });
  root.append(h('div', { class: 'two' }, h('div', { class: 'col' }, diagnosis,
    panel('Is the load even, and when was it not?', h('div', { class: 'row' }, seg('Measure', METRICS, metric, (v) => { metric = v; at.remember({ metric }); again(); }), seg('Grain', [['slice', '1/256'], ['range', 'ranges']], grain, (v) => { grain = v; at.remember({ grain }); redraw(); }), spanSeg, seg('Scale', [['lin', 'budget'], ['log', 'log']], 'lin', (v) => { log = v === 'log'; redraw(); })),
      fig.el, h('div', { class: 'under' }, legend({ text: 'of the budget', refused: false }), h('span', { class: 'key' }, s('svg', { width: 18, height: 10, class: 'sw', 'aria-hidden': 'true' }, s('rect', { class: 'heat-7', width: 18, height: 10 }), [3, 8, 13].map((x) => s('rect', { class: 'hatch-line', x, y: 4, width: 2, height: 2 }))), 'dot: refused (429)'), h('span', { class: 'key' }, s('svg', { width: 14, height: 10, 'aria-hidden': 'true' }, s('line', { class: 'cut', x1: 7, x2: 7, y1: 0, y2: 10 })), 'range boundary'),
        h('span', { class: 'grow' }), compare, button('Table', showTable), button('PNG', exportAll), button('JSON', () => save(`heat-${c.name}.json`, JSON.stringify({ from: grid.from, seconds: grid.seconds, read: [...grid.read], write: [...grid.write], refused: [...grid.refused] })))), table)), side));
  reload(); offer(at, 'Add a mark to the heat picture', 'm', mark);
  let ticks = 0;
  world.listeners.add(() => { ticks += 1; if (ticks % (span === '1 h' ? 5 : 60) === 0 && !ago && !brush) reload(true); });
  world.layouts.add(() => { if (at.alive) again(); });
}
