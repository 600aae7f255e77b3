// Beside the Map: the range that is selected, who spends its budget, and what can be done with it.
import { h, s, int, bytes, pct, many, word, button, panel, kv, meter } from './dom.js';
import { curlManage, asCode, cli } from './code.js';
import { world, jobsOf, readOnly, hex, RANGE_RU_MAX } from './world.js';
import { collPath } from './api.js';
import { keyText } from './json.js';
import { keyLink } from './palette.js';
import { band } from './strip.js';
import { stepIndex, STEPS, bytesBetween } from './mapdraw.js';
import { sharesPanel } from './shares.js';

export function spark(r) {
  const w = 260, hh = 54, budget = r.budget || RANGE_RU_MAX, loads = r.seconds.map((v) => v / budget), max = Math.max(1.25, ...loads), y = (v) => hh - (v / max) * hh, line = y(1);
  return s('svg', { class: 'spark', viewBox: `0 0 ${w} ${hh + 12}`, role: 'img', 'aria-label': `Last 60 seconds of range ${r.id}, at most ${pct(Math.max(...loads))} of the budget` },
    loads.map((v, i) => (v ? s('rect', { class: `heat-${band(v)}`, x: (i * w) / 60 + .4, width: w / 60 - .8, y: y(v), height: hh - y(v) }) : null)), s('line', { class: 'base', x1: 0, x2: w, y1: hh + .5, y2: hh + .5 }),
    s('line', { class: 'under-limit', x1: 0, x2: w, y1: line, y2: line }), s('line', { class: 'limit', x1: 0, x2: w, y1: line, y2: line }), s('text', { class: 'axis', x: 0, y: hh + 11 }, '60 s ago'), s('text', { class: 'axis', x: w, y: hh + 11, 'text-anchor': 'end' }, 'now'), s('text', { class: 'axis', x: w / 2, y: hh + 11, 'text-anchor': 'middle' }, r.budget ? 'dashes: the budget' : 'dashes: 10,000 RU/s'));
}
/** The hottest keys of a range with their shares of what was measured. */
export function hotList(c, r, max = 6) {
  const sum = Math.max(r.watched || 0, r.hottest.reduce((n, k) => n + k.charge, 0));
  if (!r.hottest.length || !sum) return h('p', { class: 'none' }, 'Nobody lately.');
  return h('ol', { class: 'hot' }, r.hottest.slice(0, max).map((k) => h('li', {}, keyLink(c, k.partitionKey), meter(k.charge / sum), h('span', {}, pct(k.charge / sum)))));
}

export function mapSide(at, { chosen, draft, begin, commit, balance, splitBody, act, drop }) {
  const { c } = at, name = `${c.db}/${c.name}`, base = collPath(c.db, c.name), el = h('aside', { class: 'col side', 'aria-label': 'Selected range' }), can = !readOnly();
  let shares = null, merge = null;
  const about = h('div', {}), actions = h('div', {}), facts = h('div', {}), keys = h('div', {}), title = h('div', {});
  let drawn = ['', '', ''];
  /** Draws a part only when what it shows is another thing, so that nothing is replaced under the pointer. */
  const part = (i, signature, run) => { if (drawn[i] !== signature) { drawn[i] = signature; run(); } };
  el.append(about, actions);
  function drawRange(r) {
    const limit = world.info.partitionBytes;
    part(0, r.id, () => about.replaceChildren(panel(`Range ${r.id}`, h('span', { class: 'code dim' }, `${hex(r.lo)} – ${hex(r.hi)}`), facts, h('h3', {}, 'Who spends it'), keys)));
    const rows = kv([['load', [h('b', { class: r.budget && r.load >= 1 ? 'bad' : '' }, pct(r.load)), ` of ${int(r.budget || RANGE_RU_MAX)} `, word('RU/s')]], [word('429', 'refused'), r.refused ? h('b', { class: 'bad' }, `${int(r.refused)} in the last minute`) : 'none in the last minute'],
      ['data', limit ? `${bytes(r.bytes)} of ${bytes(limit)}` : bytes(r.bytes)], ['items', many(r.items)], ['keys', [int(r.logicalPartitions ?? 0), ' ', word('logical partition', r.logicalPartitions === 1 ? 'logical partition' : 'logical partitions')]], [word('LSN'), int(r.lsn)], ['came from', r.parents?.length ? `range ${r.parents.slice(-2).join(', ')}` : 'the beginning'], r.status && r.status !== 'online' ? ['status', r.status] : null]);
    if (!facts.contains(document.activeElement)) facts.replaceChildren(rows, spark(r));
    part(1, `${r.id}${JSON.stringify(r.hottest.slice(0, 6).map((k) => [keyText(k.partitionKey), Math.round(k.charge / Math.max(1, r.watched) * 100)]))}`, () => keys.replaceChildren(hotList(c, r)));
  }
  function draftPanel(r) {
    const d = draft(), all = d.slices ? bytesBetween(d.slices, r.lo, r.hi) : 0, left = all ? r.bytes * bytesBetween(d.slices, r.lo, d.at) / all : null, body = splitBody();
    return panel('Split here?', null, h('p', {}, left === null ? `Range ${r.id} becomes two at ${hex(d.at)}.` : `Range ${r.id} becomes two: ${bytes(left)} and ${bytes(r.bytes - left)}.`, r.budget ? ` ${int(r.budget / 2)} RU/s each.` : '', body ? '' : ' With hashes of version 1 the server chooses the point.', ' Reads go on; writes pause for a moment. Queries over all ranges pay for one more.'),
      asCode(cli('split', name, r.id, ...(body ? ['--at', body.at] : [])), curlManage('POST', `${base}/ranges/${r.id}/split`, body)),
      h('div', { class: 'acts three' }, button('Split', commit, { kind: 'primary', key: 'Enter' }), d.slices ? button('Balance', balance, { key: 'b' }) : null, button('Cancel', drop, { key: 'Esc' })));
  }
  function mergePanel(r) {
    const o = c.ranges.find((x) => x.id === merge);
    if (!o) { merge = null; return actPanel(r); }
    const both = [r, o].sort((a, b) => a.lo - b.lo).map((x) => x.id), size = r.bytes + o.bytes, budget = (r.budget || 0) + (o.budget || 0), body = { ranges: both };
    const no = budget > RANGE_RU_MAX ? `Together they have ${int(budget)} RU/s, and a range has at most 10,000.` : world.info.partitionBytes && size > world.info.partitionBytes ? `Together they have ${bytes(size)}, and a range splits at ${bytes(world.info.partitionBytes)}.` : '';
    return panel(`Merge ${both.join(' and ')}?`, null, h('p', {}, `They become one of ${bytes(size)}, ${many(r.items + o.items)} items${budget ? `, ${int(budget)} RU/s` : ''}. Reads go on; writes to both pause for a moment.`), no ? h('p', { class: 'bad' }, no) : null,
      asCode(cli('merge', name, ...both), curlManage('POST', `${base}/ranges/merge`, body)),
      h('div', { class: 'acts three' }, button('Merge', () => { merge = null; act('ranges/merge', body, `Ranges ${both.join(' and ')} begin to merge.`); draw(); }, { kind: 'primary' }), button('Cancel', () => { merge = null; draw(); })));
  }
  function actPanel(r) {
    const i = c.ranges.indexOf(r), near = [c.ranges[i - 1], c.ranges[i + 1]].filter(Boolean), job = jobsOf(c).find((j) => !j.end && j.sources.includes(r.id));
    return panel('What can I do?', null, !can ? h('p', {}, 'Look: this key only reads.') : null,
      job ? h('p', {}, `Range ${r.id} is in a ${job.kind}: step ${stepIndex(job.step) + 1} of ${STEPS.length}, ${job.step}${job.step === 'copy' ? ` ${pct(job.progress)}` : ''}${job.isWaiting ? ', waiting' : ''}.`) : null,
      h('div', { class: 'acts' }, button('Split…', begin, { kind: 'primary', key: 's', disabled: Boolean(job) || !can }), button('Move', () => act(`ranges/${r.id}/move`, undefined, `Range ${r.id} begins to move: new place, new index.`), { disabled: Boolean(job) || !can, title: 'New place, new index' }),
        near.map((o) => button(`Merge with ${o.id}…`, () => { merge = o.id; draw(); }, { disabled: Boolean(job) || !can })), button('Shares…', () => { shares = sharesPanel(at, { act, done: () => { shares = null; draw(); } }); draw(); }, { disabled: !can || !c.hasBudget || c.isShared || c.ranges.length < 2, title: c.ranges.length < 2 ? 'One range has all of it' : 'Who gets how much of the throughput' })),
      asCode(cli('split', name, r.id), curlManage('POST', `${base}/ranges/${r.id}/split`)), asCode(cli('move', name, r.id), curlManage('POST', `${base}/ranges/${r.id}/move`)));
  }
  function draw() {
    const r = chosen();
    if (!r) return;
    drawRange(r);
    const d = draft(), job = jobsOf(c).find((j) => !j.end && j.sources.includes(r.id)), i = c.ranges.indexOf(r);
    const signature = shares ? 'shares' : JSON.stringify([r.id, d && d.id === r.id ? [d.at, Boolean(d.slices)] : null, merge, job ? [job.step, job.isWaiting, Math.round(job.progress * 100)] : null, c.ranges[i - 1]?.id, c.ranges[i + 1]?.id]);
    part(2, signature, () => {
      const had = actions.contains(document.activeElement) ? document.activeElement.textContent : null;
      actions.replaceChildren(shares || (d?.id === r.id ? draftPanel(r) : merge ? mergePanel(r) : actPanel(r)));
      if (had !== null) ([...actions.querySelectorAll('button')].find((b) => b.textContent === had) || actions.querySelector('button:not(:disabled)'))?.focus();
    });
  }
  return { el, draw, cancel: () => { merge = null; shares = null; }, isBusy: () => Boolean(shares) };
}
