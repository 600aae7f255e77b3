// The history of heat as two grids, time by 256 slices: each slice against its even part of the budget, and each range against
// its whole budget, which is what decides about 429.
//
// The budget of the past is today's: what was provisioned then is not kept.
import { send, collPath } from './api.js';
import { world, jobsOf, RANGE_RU_MAX } from './world.js';

export const SPANS = { '1 h': { rows: 60, seconds: 60 }, '24 h': { rows: 288, seconds: 300 }, '7 d': { rows: 168, seconds: 3600 } };
export const METRICS = [['all', 'RU'], ['read', 'reads'], ['write', 'writes'], ['refused', '429s']];

/** What the server kept of a span that ends `ago` seconds before now. */
export async function load(c, span, signal, ago = 0) {
  const { rows, seconds } = SPANS[span], now = Math.floor((world.atMs || Date.now()) / 1000), to = now - ago, from = (Math.floor(to / seconds) - rows + 1) * seconds;
  const answer = await send('GET', `_orrery/${collPath(c.db, c.name)}/heat?from=${from}&to=${to}`, { signal });
  if (!answer.ok) throw new Error(JSON.parse(answer.text).message || `status ${answer.status}`);
  const told = JSON.parse(answer.text), read = new Float32Array(rows * 256), write = new Float32Array(rows * 256), refused = new Float32Array(rows * 256);
  for (const column of told.columns) {
    const y = Math.floor((column.at - from) / seconds);
    if (y < 0 || y >= rows) continue;
    for (const [x, r, w, n] of column.cells) { read[y * 256 + x] += r; write[y * 256 + x] += w; refused[y * 256 + x] += n; }
  }
  return { span, rows, seconds, from, to, read, write, refused, width: told.columnSeconds };
}
/** Boundaries of ranges at a time: those of now, with the relocations after it undone. */
export function rangesAt(c, ms) {
  let now = c.ranges.map((r) => ({ id: r.id, lo: r.lo, hi: r.hi, budget: r.budget || RANGE_RU_MAX }));
  for (const job of jobsOf(c).filter((j) => j.end === 'done' && j.endedMs > ms).sort((a, b) => b.endedMs - a.endedMs)) {
    const made = now.filter((r) => job.targets.includes(r.id));
    if (!made.length) continue;
    const lo = Math.min(...made.map((r) => r.lo)), hi = Math.max(...made.map((r) => r.hi)), budget = made.reduce((n, r) => n + r.budget, 0), known = job.sources.map((id) => c.retired.get(id));
    const before = job.sources.length > 1 && known.every(Boolean) ? known.map((r) => ({ id: r.id, lo: r.lo, hi: r.hi, budget: budget * (r.hi - r.lo) / (hi - lo) })) : [{ id: job.sources.join(' + '), lo, hi, budget }];
    now = now.filter((r) => !made.includes(r)).concat(before).sort((a, b) => a.lo - b.lo);
  }
  return now;
}
/** Shares of the budget for a measure: `cell` of a slice's part, `whole` of the range's. The last row is not over yet: it counts what of it has passed. */
export function layers(c, grid, metric) {
  const { rows, seconds, from, to } = grid, cell = new Float32Array(rows * 256), whole = new Float32Array(rows * 256), ru = new Float32Array(rows * 256), ids = [];
  let ranges = null, key = -1;
  const jobs = jobsOf(c).filter((j) => j.end === 'done');
  for (let y = 0; y < rows; y++) {
    const end = from + (y + 1) * seconds, long = Math.max(1, Math.min(seconds, to - from - y * seconds)), k = jobs.filter((j) => j.endedMs > end * 1000).length;
    if (k !== key) { ranges = rangesAt(c, end * 1000); key = k; }
    ids.push(ranges);
    for (const r of ranges) {
      const a = Math.min(255, Math.floor(r.lo * 256)), b = Math.max(a + 1, Math.ceil(r.hi * 256 - 1e-9)), part = r.budget / Math.max(1, (r.hi - r.lo) * 256);
      let sum = 0;
      for (let x = a; x < b && x < 256; x++) {
        const i = y * 256 + x, v = metric === 'read' ? grid.read[i] : metric === 'write' ? grid.write[i] : metric === 'refused' ? grid.refused[i] : grid.read[i] + grid.write[i];
        ru[i] = v / long; cell[i] = metric === 'refused' ? Math.min(1, v / Math.max(1, v + 20)) : ru[i] / part; sum += ru[i];
      }
      for (let x = a; x < b && x < 256; x++) whole[y * 256 + x] = metric === 'refused' ? (sum ? Math.min(1, (sum * long) / (sum * long + 20)) : 0) : sum / r.budget;
    }
  }
  return { ...grid, cell, whole, ru, ranges: ids };
}
/** Which range a slice belonged to in a row. */
export const rangeOf = (data, x, y) => data.ranges[y].find((r) => (x + .5) / 256 < r.hi) || data.ranges[y].at(-1);

/** What happened: relocations and the marks of this browser, oldest first. */
export function causes(c) {
  const list = jobsOf(c).map((j) => {
    const targets = c.ranges.filter((r) => j.targets.includes(r.id)), all = targets.length ? targets : c.ranges.filter((r) => j.sources.includes(r.id));
    const cut = j.kind === 'split' ? (typeof j.at === 'number' ? j.at : targets.length > 1 ? targets[0].hi : null) : null;
    return { at: j.endedMs || j.startedMs, kind: j.kind, begun: !j.end, text: `${j.kind} ${j.sources.join(' + ')}${j.end === 'failed' ? ' failed' : j.end ? '' : ' begins'}`, why: j.reason, cut, lo: all.length ? Math.min(...all.map((r) => r.lo)) : null, hi: all.length ? Math.max(...all.map((r) => r.hi)) : null, done: j.end === 'done' };
  });
  return [...list, ...marks(c).map((m) => ({ at: m.at, kind: 'mark', text: m.text }))].sort((a, b) => a.at - b.at);
}
// Limit: marks of one container in this browser.
const MARKS_MAX = 50;
export function marks(c) { try { return JSON.parse(localStorage.getItem(`orrery.marks.${c.id}`)) || []; } catch { return []; } }
export function addMark(c, text) { try { localStorage.setItem(`orrery.marks.${c.id}`, JSON.stringify([...marks(c), { at: world.atMs || Date.now(), text }].slice(-MARKS_MAX))); } catch { /* private window */ } }
