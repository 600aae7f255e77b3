// Many items at once: count and price first, then the run with its report. Everything belongs to the container of the screen that
// asked; leaving the screen stops it.
import { h, int, dec, ru, button, dialog, toast, shown, seg, plural, say } from './dom.js';
import { parse, keyOf, keyText } from './json.js';
import { send, charge, ApiError } from './api.js';
import { queryPage, deleteItem, patchItem, itemsPath, keyHeader, patient, BATCH_HEADERS } from './wire.js';
import { each } from './sample.js';
import { keyFilter } from './query.js';
import { asCode, curlWire } from './code.js';

// Limits: items whose price is measured; requests at once; reasons in the report.
const MEASURED = 4, AT_ONCE = 8, REASONS_MAX = 5;
const NOBODY = ` no such item ${Math.random().toString(36).slice(2)}`;

/** What an operation would cost: it runs in a transaction that is made to fail, so that nothing changes. Its charge is kept by the answer. */
async function price(c, operation, item) {
  const body = `[${operation(item)},{"operationType":"Read","id":${JSON.stringify(NOBODY)}}]`;
  const answer = await patient(() => send('POST', itemsPath(c), { body, headers: { 'content-type': 'application/json', 'x-ms-version': '2020-07-15', ...BATCH_HEADERS, ...(c.rid ? { 'x-ms-cosmos-intended-collection-rid': c.rid } : {}), ...keyHeader(item.key) } }));
  if (!answer.ok) throw new ApiError('POST', 'batch', answer);
  const [first, second] = JSON.parse(answer.text);
  if (first.statusCode < 400 && second.statusCode < 400) throw new Error('The trial was not rolled back.');
  if (first.statusCode >= 400 && first.statusCode !== 424) throw new Error(first.statusCode === 404 ? 'An item is gone already.' : `The change would be refused with ${first.statusCode}.`);
  return first.requestCharge;
}
/** Rows of the protocol as what an operation needs. */
export const target = (c, row) => ({ id: row.get('id'), key: keyOf(row, c.paths), etag: row.get('_etag') });

/** `source`: {items} that were chosen, or {where, count} for all that match. */
export function bulkDialog(at, source, changed) {
  const { c } = at;
  let kind = 'delete', stop = null, sample = [], count = source.items ? source.items.length : null, read = 0;
  const ops = h('textarea', { class: 'src plain', rows: 4, spellcheck: false, 'aria-label': 'Patch operations', value: '[\n  { "op": "set", "path": "/status", "value": "closed" }\n]', oninput: () => preview() });
  const tell = h('div', { class: 'preview', role: 'status' }), bar = h('progress', { max: 1, value: 0, hidden: true, 'aria-label': 'Progress' }), code = h('div', {}), opsBox = h('div', { hidden: true }, h('h3', {}, 'Operations of each patch'), ops);
  const go = button('Delete', () => run(), { kind: 'primary', disabled: true });
  const operation = () => (kind === 'delete' ? (x) => `{"operationType":"Delete","id":${JSON.stringify(x.id)}}` : (x) => `{"operationType":"Patch","id":${JSON.stringify(x.id)},"resourceBody":{"operations":${ops.value}}}`);
  const what = source.items ? `the ${plural(source.items.length, 'chosen item')}` : `all items ${source.where ? `where ${shown(source.where, 120)}` : ''}`;
  const text = () => `SELECT * FROM c${source.where ? ` WHERE ${source.where}` : ''}`;
  let asked = 0;
  async function preview() {
    const mine = asked += 1;
    go.disabled = true; tell.replaceChildren(h('p', { class: 'dim' }, 'Counting and pricing…'));
    try {
      if (kind === 'patch') { const list = parse(ops.value); if (!Array.isArray(list) || !list.length) throw new Error('Operations are an array, such as [{"op":"set","path":"/a","value":1}].'); }
      if (count === null) { const page = await queryPage(c, `SELECT VALUE COUNT(1) FROM c${source.where ? ` WHERE ${source.where}` : ''}`, { signal: at.signal }); count = Number(page.rows[0]?.text ?? 0); read = page.charge; }
      if (!sample.length && count) sample = source.items ? source.items.slice(0, MEASURED) : (await queryPage(c, text(), { size: MEASURED, signal: at.signal })).rows.slice(0, MEASURED).map((r) => target(c, r));
      const prices = [];
      for (const item of sample) prices.push(await price(c, operation(), item));
      if (mine !== asked || !at.alive) return;
      const one = prices.length ? prices.reduce((a, b) => a + b, 0) / prices.length : 0, spread = prices.length && Math.max(...prices) - Math.min(...prices) > 0.01;
      tell.replaceChildren(h('p', {}, h('b', {}, `${plural(count, 'item')} of ${shown(c.id)}`), `, ${spread ? 'about ' : ''}${ru(one)} RU each, ${spread ? 'about ' : ''}`, h('b', {}, `${ru(one * count)} RU`), ' in all.'),
        h('p', { class: 'dim small' }, `The price was measured on ${plural(prices.length, 'item')} in a transaction that was rolled back. ${c.hasBudget ? `At ${int(c.provisioned)} RU/s it takes ${dec(Math.max(0.1, one * count / c.provisioned), 1)} s or more.` : ''}`));
      go.disabled = !count;
      if (sample[0]) code.replaceChildren(asCode(null, curlWire(kind === 'delete' ? 'DELETE' : 'PATCH', `${itemsPath(c)}/${encodeURIComponent(sample[0].id)}`, kind === 'delete' ? undefined : `{"operations":${ops.value}}`, keyHeader(sample[0].key))));
    } catch (error) { if (error.name !== 'AbortError' && mine === asked) tell.replaceChildren(h('p', { class: 'bad' }, shown(error.message, 300))); }
  }
  async function run() {
    stop = new AbortController(); at.signal.addEventListener('abort', () => stop.abort());
    go.disabled = true; bar.hidden = false; cancel.firstChild.textContent = 'Stop'; kinds.querySelectorAll('button').forEach((b) => { b.disabled = true; }); ops.disabled = true;
    const report = { done: 0, ru: read, failed: new Map(), seen: 0 };
    const one = async (x) => {
      if (stop.signal.aborted) return;
      const answer = kind === 'delete' ? await deleteItem(c, x.id, x.key, x.etag, stop.signal) : await patchItem(c, x.id, x.key, `{"operations":${ops.value}}`, x.etag, stop.signal);
      report.ru += charge(answer); report.seen += 1;
      if (answer.ok) report.done += 1; else { const why = answer.status === 412 ? 'changed meanwhile, left alone' : answer.status === 404 ? 'gone already' : `${answer.status}: ${new ApiError('', '', answer).message.slice(0, 120)}`; report.failed.set(why, (report.failed.get(why) || 0) + 1); }
      bar.value = report.seen / Math.max(1, count);
      if (report.seen % 20 === 0) tell.replaceChildren(h('p', {}, `${int(report.seen)} of ${int(count)}, ${ru(report.ru)} RU so far.`));
    };
    try {
      if (source.items) await each(source.items, one, AT_ONCE);
      else {
        // all positions first: a patch could take an item out of the filter, and a page would be skipped
        const all = []; let continuation = null;
        do { const page = await queryPage(c, text(), { continuation, size: 500, signal: stop.signal }); report.ru += page.charge; all.push(...page.rows.map((r) => target(c, r))); continuation = page.continuation; } while (continuation);
        count = all.length;
        await each(all, one, AT_ONCE);
      }
    } catch (error) { if (error.name !== 'AbortError') report.failed.set(error.message, (report.failed.get(error.message) || 0) + 1); }
    const words = `${kind === 'delete' ? 'Deleted' : 'Patched'} ${int(report.done)} of ${int(count)} in ${c.id} for ${ru(report.ru)} RU.`;
    say(words); changed();
    if (!box.isConnected) { toast(words); return; }
    bar.hidden = true; cancel.firstChild.textContent = 'Close'; stop = null;
    tell.replaceChildren(h('p', {}, h('b', {}, shown(words, 300))), ...[...report.failed].slice(0, REASONS_MAX).map(([why, n]) => h('p', { class: 'bad' }, `${int(n)} ${shown(why, 200)}`)));
  }
  const kinds = seg('Operation', [['delete', 'Delete'], ['patch', 'Patch']], kind, (v) => { kind = v; opsBox.hidden = v !== 'patch'; go.firstChild.textContent = v === 'delete' ? 'Delete' : 'Patch'; preview(); });
  const cancel = button('Cancel', () => { if (stop) stop.abort(); else box.close(); });
  const box = dialog('bulk', 'Change many items', h('h2', { class: 'title' }, 'Change many items'), h('p', {}, `Of `, h('b', {}, shown(c.id)), `: ${what}.`), kinds, opsBox, tell, bar, code, h('footer', { class: 'row' }, h('span', { class: 'grow' }), cancel, go));
  if (!box) return;
  box.addEventListener('close', () => stop?.abort());
  preview();
}
/** All items of one logical partition: count and price first, then one request by key. */
export function deleteByKey(at, key, changed) {
  const { c } = at, where = keyFilter(c, key).split('WHERE ')[1];
  bulkDialog(at, { where, key, label: keyText(key) }, changed);
}
