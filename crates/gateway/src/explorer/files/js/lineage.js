// Which range came from which: the relocations of the last 24 hours, played backwards from the ranges that live.
//
// A boundary between two ranges that were merged is drawn only where the server or this page has seen it.
import { s, when } from './dom.js';
import { jobsOf } from './world.js';

export const ROW = 16;
// Limit: rows; what was before them is one row.
const ROWS_MAX = 9;

/** Rows from old to new, each with the ranges of that time and what made them. */
export function lineage(c) {
  const jobs = jobsOf(c).filter((j) => j.end === 'done' && j.targets.length).sort((a, b) => b.endedMs - a.endedMs).slice(0, ROWS_MAX - 1);
  let now = c.ranges.map((r) => ({ ids: [r.id], lo: r.lo, hi: r.hi, live: true }));
  const rows = [];
  for (const job of jobs) {
    const made = now.filter((n) => n.ids.some((id) => job.targets.includes(id)));
    rows.unshift({ at: job.endedMs, job, cells: now });
    if (!made.length) continue;
    const lo = Math.min(...made.map((n) => n.lo)), hi = Math.max(...made.map((n) => n.hi)), known = job.sources.map((id) => c.retired.get(id));
    const before = job.sources.length > 1 && known.every(Boolean) ? known.map((r) => ({ ids: [r.id], lo: r.lo, hi: r.hi })) : [{ ids: job.sources, lo, hi }];
    now = now.filter((n) => !made.includes(n)).concat(before).sort((a, b) => a.lo - b.lo);
  }
  rows.unshift({ at: 0, job: null, cells: now });
  return rows;
}
export const lineageHeight = (rows) => (rows.length > 1 ? rows.length * ROW + 14 : 0);

export function drawLineage(ctx, y, rows, selected) {
  if (rows.length < 2) return;
  const seen = new Set();
  rows.forEach((row, i) => {
    const top = y + i * ROW;
    ctx.left(top + 11.5, i ? when(row.at) : 'before', 'dim');
    let thin = '';
    for (const cell of row.cells) {
      const name = cell.ids.join(' + '), key = `${name}@${cell.lo}`;
      if (seen.has(key)) continue;
      seen.add(key);
      let rowsLong = 1;
      while (rows[i + rowsLong]?.cells.some((n) => n.ids.join(' + ') === name && n.lo === cell.lo)) rowsLong += 1;
      const x = ctx.x(cell.lo) + .5, w = ctx.x(cell.hi) - ctx.x(cell.lo) - 1, live = i + rowsLong === rows.length;
      if (w < 3) { thin += `M${x} ${top + 1}h${Math.max(.5, w)}v${rowsLong * ROW - 1}h${-Math.max(.5, w)}z`; continue; }
      ctx.add(s('g', { class: `lin${live ? ' now' : ''}${live && name === selected ? ' sel' : ''}` }, s('title', {}, `range ${name}`),
        s('rect', { x, y: top + 1, width: w, height: rowsLong * ROW - 1 }), w > 18 ? s('text', { x: x + 6, y: top + 12.5 }, w > name.length * 7 + 8 ? name : '…') : null));
    }
    if (thin) ctx.add(s('g', { class: 'lin' }, s('path', { class: 'thin', d: thin })));
    if (row.job) ctx.right(top + 11.5, `${row.job.kind === 'merge' ? '┴' : '┬'} ${row.job.kind} ${row.job.sources.join(' + ')}${ctx.gr > 110 ? `, ${row.job.reason}` : ''}`, i === rows.length - 1 ? '' : 'dim');
  });
}
