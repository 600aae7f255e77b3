// Three versions of an item, line by line: what was read, what is edited here, and what somebody else has saved meanwhile.
import { h, button, dialog, shown } from './dom.js';

// Limit: lines that are compared one by one; beyond it the middle is one piece.
const LINES_MAX = 1500;

/** Pairs of lines that both have, in order: the longest common subsequence between equal ends. */
function common(a, b) {
  let head = 0; while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0; while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const x = a.slice(head, a.length - tail), y = b.slice(head, b.length - tail), pairs = Array.from({ length: head }, (_, i) => [i, i]);
  if (x.length * y.length <= LINES_MAX * LINES_MAX) {
    const w = y.length + 1, t = new Uint16Array((x.length + 1) * w);
    for (let i = x.length - 1; i >= 0; i--) for (let j = y.length - 1; j >= 0; j--) t[i * w + j] = x[i] === y[j] ? t[(i + 1) * w + j + 1] + 1 : Math.max(t[(i + 1) * w + j], t[i * w + j + 1]);
    for (let i = 0, j = 0; i < x.length && j < y.length;) if (x[i] === y[j]) { pairs.push([head + i, head + j]); i += 1; j += 1; } else if (t[(i + 1) * w + j] >= t[i * w + j + 1]) i += 1; else j += 1;
  }
  for (let k = tail; k > 0; k--) pairs.push([a.length - k, b.length - k]);
  return pairs;
}
/** Pieces of the three texts: `kind` is same, mine, theirs, both (the same change) or conflict. */
export function threeWay(base, mine, theirs) {
  const o = base.split('\n'), a = mine.split('\n'), b = theirs.split('\n'), inA = new Map(common(o, a)), inB = new Map(common(o, b)), out = [];
  let i = 0, ia = 0, ib = 0;
  const push = (to, ta, tb) => {
    const base1 = o.slice(i, to), m = a.slice(ia, ta), t = b.slice(ib, tb), eq = (x, y) => x.length === y.length && x.every((l, k) => l === y[k]);
    if (base1.length || m.length || t.length) out.push({ base: base1, mine: m, theirs: t, kind: eq(m, t) ? (eq(m, base1) ? 'same' : 'both') : eq(m, base1) ? 'theirs' : eq(t, base1) ? 'mine' : 'conflict' });
    i = to; ia = ta; ib = tb;
  };
  for (let k = 0; k < o.length; k++) if (inA.has(k) && inB.has(k)) { push(k, inA.get(k), inB.get(k)); push(k + 1, inA.get(k) + 1, inB.get(k) + 1); }
  push(o.length, a.length, b.length);
  return out;
}
/** Both changes, where they do not touch the same lines; null if they do. */
export function merged(chunks) {
  if (chunks.some((c) => c.kind === 'conflict')) return null;
  return chunks.flatMap((c) => (c.kind === 'theirs' ? c.theirs : c.mine)).join('\n');
}
/** Shows the three and asks which to go on with; `pick` gets the text. */
export function compareDialog({ title, base, mine, theirs, pick, note }) {
  const chunks = threeWay(base, mine, theirs), both = merged(chunks);
  const cell = (lines, kind, mark) => h('td', { class: kind ? `d-${kind}` : '' }, h('pre', {}, lines.length ? lines.map((l) => shown(l, 400)).join('\n') : ''), mark && kind ? h('span', { class: 'sr' }, `(${mark})`) : null);
  const rows = chunks.map((c) => h('tr', { class: `c-${c.kind}` }, cell(c.base, c.kind !== 'same' && c.base.length ? 'old' : '', 'was'), cell(c.mine, c.kind === 'mine' || c.kind === 'conflict' || c.kind === 'both' ? 'new' : '', 'changed here'), cell(c.theirs, c.kind === 'theirs' || c.kind === 'conflict' || c.kind === 'both' ? 'new' : '', 'changed there')));
  const done = (text) => { box.close(); pick(text); };
  const box = dialog('three', title, h('h2', { class: 'title' }, title), h('p', { class: 'dim' }, note),
    h('div', { class: 'scroll threebox', tabindex: 0 }, h('table', { class: 'threeway' }, h('thead', {}, h('tr', {}, ['as it was read', 'as it is here', 'as it is on the server'].map((t) => h('th', { scope: 'col' }, t)))), h('tbody', {}, rows))),
    h('footer', { class: 'row' }, h('span', { class: 'dim' }, both === null ? 'Both changed the same lines.' : 'The changes do not touch each other.'), h('span', { class: 'grow' }), both === null ? null : button('Both changes', () => done(both), { kind: 'primary' }), button('Mine', () => done(mine)), button('Theirs', () => done(theirs)), button('Cancel', () => box.close())));
}
