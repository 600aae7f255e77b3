// One line in words about the load: who makes it, since when, and whether a split would help.
import { pct, clock, int, shown, dec } from './dom.js';
import { keyText } from './json.js';
import { placeOf, RANGE_RU_MAX } from './world.js';

// Thresholds: a pause of three rows ends no story; a key that makes half of a range's charge is its cause; a range below a quarter of its budget is calm.
const GAP_MAX = 3, KEY_SHARE = 0.5, CALM = 0.25, HOT = 0.75, UNEVEN = 3;

/** Since which row a slice has carried more than half of its range. */
function since(data, x, range) {
  let first = null, gap = 0;
  for (let y = data.rows - 1; y >= 0; y--) {
    const a = Math.floor(range.lo * 256), b = Math.max(a + 1, Math.ceil(range.hi * 256));
    let sum = 0; for (let i = a; i < b && i < 256; i++) sum += data.ru[y * 256 + i];
    if (!sum || data.ru[y * 256 + x] < sum * KEY_SHARE) { gap += 1; if (gap > GAP_MAX) break; continue; }
    first = y; gap = 0;
  }
  return first;
}
/** {text, tail, slice, row, key}: the first part is the finding, the tail what it means. */
export function diagnose(c, data) {
  const busiest = c.ranges.reduce((a, b) => (b.load > a.load ? b : a), c.ranges[0]);
  if (!busiest) return null;
  const top = busiest.hottest[0], sum = Math.max(busiest.watched || 0, busiest.hottest.reduce((n, k) => n + k.charge, 0)), share = top && sum ? top.charge / sum : 0, refused = c.refused ? ` ${int(c.refused)} requests were refused in the last minute.` : '';
  const total = c.ranges.map((r) => { const a = Math.floor(r.lo * 256), b = Math.max(a + 1, Math.ceil(r.hi * 256)); let n = 0; for (let y = 0; y < data.rows; y++) for (let x = a; x < b && x < 256; x++) n += data.ru[y * 256 + x]; return n; });
  if (!total.some(Boolean)) return { calm: true, text: 'Nothing was asked of this container in this span.', tail: '' };
  if (share >= KEY_SHARE && (busiest.load >= CALM || refused)) {
    const epk = top.epk, x = epk ? Math.min(255, Math.floor(placeOf(epk) * 256)) : hottestSlice(data, busiest), row = since(data, x, busiest), from = row === null ? '' : ` since ${clock((data.from + row * data.seconds) * 1000)}`;
    return { key: top.partitionKey, slice: x, row: data.rows - 1, text: `One key, ${shown(keyText(top.partitionKey), 60)}, makes ${pct(share)} of range ${busiest.id}’s charge${from}.`, tail: ` A split cannot spread one key.${refused}` };
  }
  const mean = total.reduce((a, b) => a + b, 0) / total.length, most = Math.max(...total), at = total.indexOf(most);
  if (busiest.load >= HOT) return { slice: Math.floor((busiest.lo + busiest.hi) * 128), row: data.rows - 1, text: `Range ${busiest.id} is at ${pct(busiest.load)} of ${int(busiest.budget || RANGE_RU_MAX)} RU/s.`, tail: ` No single key makes half of it, so ${c.ranges.length > 1 ? 'a split or a larger share' : 'a split'} spreads it.${refused}` };
  if (total.length > 1 && most > UNEVEN * mean) return { slice: Math.floor((c.ranges[at].lo + c.ranges[at].hi) * 128), row: data.rows - 1, text: `Range ${c.ranges[at].id} did ${dec(most / Math.max(1e-9, mean), 1)} times the work of an average range in this span.`, tail: ` It stays within its budget.${refused}` };
  return { calm: true, text: `The load is even: no range is beyond ${pct(Math.max(...c.ranges.map((r) => r.load)))} of its budget.`, tail: refused };
}
function hottestSlice(data, r) {
  const a = Math.floor(r.lo * 256), b = Math.max(a + 1, Math.ceil(r.hi * 256));
  let best = a, most = -1;
  for (let x = a; x < b && x < 256; x++) { let n = 0; for (let y = Math.max(0, data.rows - 5); y < data.rows; y++) n += data.ru[y * 256 + x]; if (n > most) { most = n; best = x; } }
  return best;
}
