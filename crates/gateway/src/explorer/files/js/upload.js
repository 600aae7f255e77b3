// Upload: JSON, JSON Lines or CSV from a file, dropped or chosen. Checked here first, then written with a report.
import { h, button, dialog, shown, int, ru, plural, toast, say } from './dom.js';
import { parse, pieces, keyOf } from './json.js';
import { charge } from './api.js';
import { createItem } from './wire.js';
import { each } from './sample.js';

// Limits: a file that the page reads at once; requests at once; reasons in the report.
const BYTES_MAX = 200e6, AT_ONCE = 8, REASONS_MAX = 5;

/** Cells of CSV by the usual rules: quotes double, line breaks in quotes. */
function csv(text) {
  const rows = [[]]; let i = 0, cell = '', quoted = false;
  const put = () => { rows.at(-1).push(cell); cell = ''; };
  while (i < text.length) {
    const ch = text[i];
    if (quoted) { if (ch === '"' && text[i + 1] === '"') { cell += '"'; i += 1; } else if (ch === '"') quoted = false; else cell += ch; } else if (ch === '"') quoted = true; else if (ch === ',') put(); else if (ch === '\n') { put(); rows.push([]); } else if (ch !== '\r') cell += ch;
    i += 1;
  }
  if (cell || rows.at(-1).length) put(); else rows.pop();
  return rows.filter((r) => r.length > 1 || r[0] !== '');
}
/** A cell as JSON text: numbers, true, false and null stay as they stand; an id is always text. */
const cellJson = (name, v) => (name !== 'id' && /^(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/.test(v) ? v : JSON.stringify(v));
/** The texts of the items of a file. */
export function itemsOfFile(name, text) {
  if (/\.csv$/i.test(name)) {
    const [head, ...rows] = csv(text.replace(/^\uFEFF/, ''));
    if (!head) return [];
    return rows.map((r) => `{${head.map((k, i) => (r[i] === undefined || r[i] === '' ? null : `${JSON.stringify(k)}:${cellJson(k, r[i])}`)).filter(Boolean).join(',')}}`);
  }
  const trimmed = text.replace(/^\uFEFF/, '').trim();
  if (trimmed.startsWith('[')) return pieces(parse(trimmed), trimmed);
  try { parse(trimmed); return [trimmed]; } catch (error) {
    const lines = trimmed.split('\n').filter((l) => l.trim());
    if (lines.length < 2) throw error;
    return lines.map((l, i) => { try { parse(l); return l; } catch { throw new Error(`Line ${i + 1} is not JSON.`); } });
  }
}

export function uploadDialog(at, changed) {
  const { c } = at;
  let found = [], stop = null;
  const tell = h('div', { class: 'preview', role: 'status' }), bar = h('progress', { max: 1, value: 0, hidden: true, 'aria-label': 'Progress' }), upsert = h('input', { type: 'checkbox' });
  const file = h('input', { type: 'file', accept: '.json,.jsonl,.ndjson,.csv,application/json,text/csv', 'aria-label': 'File', onchange: () => take(file.files[0]) });
  const drop = h('div', { class: 'drop', ondragover: (e) => { e.preventDefault(); drop.classList.add('over'); }, ondragleave: () => drop.classList.remove('over'), ondrop: (e) => { e.preventDefault(); drop.classList.remove('over'); take(e.dataTransfer.files[0]); } }, h('p', {}, 'Drop a file of JSON, JSON Lines or CSV here, or choose one.'), file);
  const go = button('Write', () => run(), { kind: 'primary', disabled: true });
  async function take(f) {
    if (!f) return;
    go.disabled = true; found = [];
    try {
      if (f.size > BYTES_MAX) throw new Error(`The file has more than ${int(BYTES_MAX / 1e6)} MB: import it by an SDK.`);
      found = itemsOfFile(f.name, await f.text());
      const without = found.filter((t) => typeof parse(t).get?.('id') !== 'string').length, keys = new Set(found.slice(0, 2000).map((t) => JSON.stringify(keyOf(parse(t), c.paths).map(String))));
      tell.replaceChildren(h('p', {}, h('b', {}, plural(found.length, 'item')), ` in ${shown(f.name, 80)}, ${plural(keys.size, 'key')}${found.length > 2000 ? ' in the first 2,000' : ''}.`), without ? h('p', { class: 'bad' }, `${plural(without, 'item')} without an id as text: the server makes none for them, and refuses them.`) : null || '');
      go.disabled = !found.length;
    } catch (error) { tell.replaceChildren(h('p', { class: 'bad' }, shown(error.message, 300))); }
  }
  async function run() {
    stop = new AbortController(); at.signal.addEventListener('abort', () => stop.abort());
    go.disabled = true; bar.hidden = false; cancel.firstChild.textContent = 'Stop';
    const report = { done: 0, ru: 0, failed: new Map(), seen: 0 };
    await each(found, async (text) => {
      if (stop.signal.aborted) return;
      try { const answer = await createItem(c, text, keyOf(parse(text), c.paths), { upsert: upsert.checked, signal: stop.signal }); report.done += 1; report.ru += charge(answer); } catch (error) { if (error.name === 'AbortError') return; const why = error.status === 409 ? 'exist already' : error.message.slice(0, 140); report.failed.set(why, (report.failed.get(why) || 0) + 1); if (error.answer?.headers) report.ru += charge(error.answer); }
      report.seen += 1; bar.value = report.seen / found.length;
      if (report.seen % 25 === 0) tell.replaceChildren(h('p', {}, `${int(report.seen)} of ${int(found.length)}, ${ru(report.ru)} RU so far.`));
    }, AT_ONCE);
    const words = `Wrote ${int(report.done)} of ${int(found.length)} items into ${c.id} for ${ru(report.ru)} RU.`;
    say(words); changed();
    if (!box.isConnected) { toast(words); return; }
    bar.hidden = true; cancel.firstChild.textContent = 'Close'; stop = null;
    tell.replaceChildren(h('p', {}, h('b', {}, shown(words, 300))), ...[...report.failed].slice(0, REASONS_MAX).map(([why, n]) => h('p', { class: 'bad' }, `${int(n)} ${shown(why, 200)}`)));
  }
  const cancel = button('Cancel', () => { if (stop) stop.abort(); else box.close(); });
  const box = dialog('uploadbox', 'Upload items', h('h2', { class: 'title' }, 'Upload items'), h('p', {}, 'Into ', h('b', {}, shown(c.id)), '.'), drop, tell, bar, h('footer', { class: 'row' }, h('label', { class: 'small' }, upsert, ' replace items that exist'), h('span', { class: 'grow' }), cancel, go));
  if (!box) return;
  box.addEventListener('close', () => stop?.abort());
}
