// How uneven the data are: the Lorenz curve of all logical partitions, and their sizes by powers of two.
import { h, s, dec, int, bytes } from './dom.js';

export function lorenz(summary) {
  const S = 190, points = summary.lorenz?.length ? summary.lorenz : [[0, 0], [1, 1]];
  const d = `M0 ${S}${points.map(([x, y]) => `L${(x * S).toFixed(1)} ${(S - y * S).toFixed(1)}`).join('')}`;
  return s('svg', { class: 'lorenz', viewBox: `-38 -6 ${S + 46} ${S + 36}`, role: 'img', 'aria-label': `Lorenz curve, Gini ${dec(summary.gini || 0, 2)}` },
    s('path', { class: 'gap', d: `${d}L${S} 0L0 ${S}` }), s('line', { class: 'even', x1: 0, y1: S, x2: S, y2: 0 }), s('path', { class: 'curve', d }), s('rect', { class: 'frame', width: S, height: S }),
    [0, 50, 100].map((v) => [s('text', { class: 'axis', x: (v / 100) * S, y: S + 14, 'text-anchor': v === 0 ? 'start' : v === 100 ? 'end' : 'middle' }, `${v} %`), s('text', { class: 'axis', x: -5, y: S - (v / 100) * S + 4, 'text-anchor': 'end' }, v === 0 ? '0' : `${v} %`)]),
    s('text', { class: 'axis', x: S / 2, y: S + 27, 'text-anchor': 'middle' }, 'of keys, small to big'), s('text', { class: 'axis', x: S * .37, y: S * .53, transform: `rotate(-45 ${S * .37} ${S * .53})` }, 'even'),
    summary.logicalPartitions >= 100 ? s('circle', { class: 'dot', cx: S * .99, cy: S - (1 - (summary.topHundredthShare || 0)) * S, r: 3.5 }) : null);
}
/** Counts of measures 0, 1, 2–3, 4–7, … as small bars with their bounds. */
export function histogram(summary, by) {
  const list = summary.histogram || [], first = list.findIndex((n) => n), last = list.findLastIndex((n) => n), top = Math.max(1, ...list);
  if (first < 0) return null;
  const unit = (v) => (by === 'bytes' ? bytes(v) : by === 'charge' ? `${int(v / 100)} RU` : int(v));
  const low = (i) => (i === 0 ? 0 : 2 ** (i - 1)), w = 100 / (last - first + 1);
  return h('div', { class: 'histogram' }, s('svg', { width: '100%', height: 46, role: 'img', 'aria-label': `Keys by size, from ${unit(low(first))} to ${unit(low(last + 1))}` }, list.slice(first, last + 1).map((n, i) => (n ? s('rect', { class: 'bar', x: `${i * w + w * .08}%`, width: `${w * .84}%`, y: 44 - Math.max(1.5, Math.log1p(n) / Math.log1p(top) * 42), height: Math.max(1.5, Math.log1p(n) / Math.log1p(top) * 42) }, s('title', {}, `${int(n)} keys from ${unit(low(first + i))}`)) : null)), s('line', { class: 'base', x1: 0, x2: '100%', y1: 44.5, y2: 44.5 })),
    h('div', { class: 'ends' }, h('span', {}, unit(low(first))), h('span', {}, 'number of keys, log'), h('span', {}, unit(low(last + 1)))));
}
