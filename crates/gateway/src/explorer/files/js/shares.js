// Sliders that always add up to the container's throughput: what one range gains the others give, in proportion.
import { h, int, button, panel } from './dom.js';
import { asCode, curlManage } from './code.js';
import { collPath } from './api.js';

const MIN = 100, MAX = 10000;
// Limit: sliders that are drawn; a container of more ranges is shared by the command line.
const SLIDERS_MAX = 64;

export function sharesPanel(at, { act, done }) {
  const { c } = at, total = c.provisioned, rows = new Map(), code = h('div', {});
  const shares = new Map(c.ranges.map((r) => [r.id, Math.round(r.budget)]));
  const body = () => ({ ranges: Object.fromEntries(shares) });
  const show = () => { rows.forEach(([slider, text], id) => { slider.value = shares.get(id); text.textContent = int(shares.get(id)); }); code.replaceChildren(asCode(null, curlManage('POST', `${collPath(c.db, c.name)}/throughput`, body()))); };
  /** Rounding leaves a few units over: the largest other takes them. */
  const settle = (id) => { const rest = total - [...shares.values()].reduce((a, b) => a + b, 0), big = [...shares].filter(([k]) => k !== id).sort((a, b) => b[1] - a[1])[0]; if (big) shares.set(big[0], big[1] + rest); };
  const set = (id, v) => {
    const rest = total - shares.get(id), want = Math.round(Math.max(MIN, Math.min(v, MAX, total - MIN * (shares.size - 1)))), f = rest ? (total - want) / rest : 1;
    for (const [k, x] of shares) if (k !== id) shares.set(k, Math.max(MIN, Math.min(MAX, Math.round(x * f))));
    shares.set(id, want); settle(id); show();
  };
  const list = c.ranges.slice(0, SLIDERS_MAX).map((r) => {
    const slider = h('input', { type: 'range', min: MIN, max: Math.min(MAX, total), step: 50, 'aria-label': `RU/s of range ${r.id}`, oninput: (e) => set(r.id, Number(e.target.value)) }), text = h('span', {});
    rows.set(r.id, [slider, text]);
    return h('li', {}, h('span', {}, r.id), slider, text);
  });
  show();
  return panel('Who gets how much?', h('span', { class: 'dim' }, `${int(total)} RU/s in all`), h('ul', { class: 'shares' }, list), h('p', { class: 'small dim' }, 'From 100 to 10,000 RU/s each. What one gains the others give.'), code,
    h('div', { class: 'acts three' }, button('Share so', () => { act('throughput', body(), 'Shares changed. They hold from the next second on.'); done(); }, { kind: 'primary' }), button('Equal', () => { act('throughput', undefined, 'All ranges have the same share.'); done(); }), button('Cancel', done)));
}
