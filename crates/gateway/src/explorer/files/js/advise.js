// What deserves a look, by rules over facts of the last hour. Each says what is, and one way to go.
import { int, pct, bytes, shown } from './dom.js';
import { keyText } from './json.js';
import { RANGE_RU_MAX } from './world.js';

// Thresholds as the service's own tools have them.
const HOT = 0.9, COOL = 0.7, HOT_KEY = 0.5, SKEW = 0.7, SKEW_BYTES = 1e9, FULL = 0.9, IDLE = 0.3, CHARGE_MIN = 100;

export function advise(containers, info) {
  const found = [];
  for (const c of containers) {
    const add = (level, text, act, to) => found.push({ c, level, text, act, to });
    const busiest = c.ranges.reduce((a, b) => (b.load > a.load ? b : a), c.ranges[0]), coolest = c.ranges.reduce((a, b) => (b.load < a.load ? b : a), c.ranges[0]);
    if (!busiest) continue;
    const top = busiest.hottest[0], used = Math.max(1, busiest.watched || busiest.hottest.reduce((n, k) => n + k.charge, 0)), share = top ? top.charge / used : 0;
    const named = top && share >= HOT_KEY && used >= CHARGE_MIN ? `One key, ${shown(keyText(top.partitionKey), 40)}, makes ${pct(share)} of range ${busiest.id}’s charge. ` : '';
    if (c.refused) add(2, `${int(c.refused)} requests were refused in the last minute, ${busiest.refused ? `range ${busiest.id} first` : 'by several ranges'}. ${named}${named ? 'A split cannot spread one key.' : ''}`, 'Who is refused?', 'live');
    else if (c.hasBudget && busiest.load >= HOT && coolest.load < COOL && c.ranges.length > 1) add(1, `Range ${busiest.id} is at ${pct(busiest.load)} of its budget, range ${coolest.id} at ${pct(coolest.load)}. ${named}`, 'Where is the heat?', 'heat');
    else if (c.hasBudget && busiest.load >= HOT) add(1, `Its busiest second used ${pct(busiest.load)} of the budget. ${named}`, 'Where is the heat?', 'heat');
    else if (named) add(0, named.trim(), 'Where does it live?', 'keys');
    const big = c.ranges.reduce((a, b) => (b.bytes > a.bytes ? b : a)), small = c.ranges.reduce((a, b) => (b.bytes < a.bytes ? b : a));
    if (info.partitionBytes && big.bytes >= FULL * info.partitionBytes) add(1, `Range ${big.id} has ${bytes(big.bytes)} and splits at ${bytes(info.partitionBytes)}.`, 'Where are the data?', 'map');
    if (c.ranges.length > 1 && big.bytes >= SKEW_BYTES && small.bytes / big.bytes < SKEW) add(0, `Data are uneven: range ${big.id} has ${bytes(big.bytes)}, range ${small.id} ${bytes(small.bytes)}.`, 'Where are the data?', 'map');
    const hour = Math.max(0, ...c.ranges.flatMap((r) => (r.minutes || []).map((m) => (r.budget ? m.peak / r.budget : 1))));
    if (c.provisioned > 1000 && !c.isShared && c.items && hour < IDLE && c.ranges.every((r) => r.minutes?.length >= 30)) add(0, `Less than ${pct(Math.max(0.01, hour))} of ${int(c.provisioned)} RU/s was needed in the last hour.`, 'See the hour', 'heat');
    if (c.ranges.length > Math.max(1, Math.ceil((c.provisioned || 0) / RANGE_RU_MAX), info.partitionBytes ? Math.ceil(c.bytes / info.partitionBytes) * 2 : Infinity)) add(0, `${c.ranges.length} ranges, where ${Math.max(1, Math.ceil((c.provisioned || 0) / RANGE_RU_MAX))} would carry the throughput: queries over all ranges pay for each.`, 'Merge some', 'map');
  }
  return found.sort((a, b) => b.level - a.level);
}
