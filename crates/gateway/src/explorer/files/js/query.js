// Query: what did it cost, and why? What came back?
import { h, s, int, dec, ru, button, seg, panel, toast, shown, clock, say, plural, carry } from './dom.js';
import { manage, call, collPath } from './api.js';
import { parse, write, Num } from './json.js';
import { readOnly, define } from './world.js';
import { queryPage, itemsPath, queryHeaders } from './wire.js';
import { paint, parametersOf } from './sql.js';
import { editor } from './editor.js';
import { completion } from './complete.js';
import { costOf, costFigure, costSum, costWhy } from './cost.js';
import { view, exportRows } from './results.js';
import { asCode, cli, curlManage, curlWire } from './code.js';
import { offer } from './palette.js';

// Limits: what is kept and fetched by one run; "More" goes on.
const HISTORY_MAX = 30, ROWS_MAX = 1000, PAGE = 200, CAP_RU = 1000;
const memory = new Map(); // by container: the text that was in the editor, while the page lives

const historyOf = (c) => { try { return JSON.parse(localStorage.getItem(`orrery.history.${c.id}`)) || []; } catch { return []; } };
const keep = (c, list) => { try { localStorage.setItem(`orrery.history.${c.id}`, JSON.stringify(list.slice(0, HISTORY_MAX))); } catch { /* full or private */ } };
const name = (path) => path.slice(1).split('/').map((p) => (/^[A-Za-z_]\w*$/.test(p) ? `.${p}` : `[${JSON.stringify(p.replace(/^"(.*)"$/s, '$1'))}]`)).join('');
const literal = (v) => (v instanceof Map ? 'undefined' : typeof v === 'string' ? JSON.stringify(v) : v instanceof Num ? v.text : String(v));
function first(c) {
  if (carry.query) { const text = carry.query; carry.query = null; return text; }
  return memory.get(c.id) ?? historyOf(c)[0]?.text ?? 'SELECT *\nFROM c';
}
/** A filter for one key of this container. */
export const keyFilter = (c, key) => `SELECT *\nFROM c\nWHERE ${c.paths.map((p, i) => (key[i] instanceof Map || key[i] === undefined ? `NOT IS_DEFINED(c${name(p)})` : `c${name(p)} = ${literal(key[i])}`)).join(' AND ')}`;

export default function query(root, at) {
  const { c } = at, base = collPath(c.db, c.name), values = new Map();
  let cost = null, before = null, rows = [], texts = [], rest = null, hidden = 0, shownAs = at.options.get('view') || 'table', running = null, paths = [], plans = [], ran = null, cap = CAP_RU, history = historyOf(c);
  const edit = editor({ label: 'Query', value: first(c), paint, rows: 4, filter: true, oninput: (text) => { memory.set(c.id, text); drawParameters(); } });
  completion(edit, () => paths, () => parametersOf(edit.value));
  const params = h('div', { class: 'params row' }), sum = h('div', {}), why = h('div', {}), out = h('div', { class: 'scroll results', tabindex: 0, role: 'region', 'aria-label': 'Rows' }), pin = h('span', { class: 'dim' }), more = h('div', { class: 'row' }), wrong = h('p', { class: 'bad mono', role: 'alert' }), code = h('div', {});
  const fig = costFigure(c, () => cost), hist = h('ol', { class: 'hist' }), how = h('div', {});
  const runButton = button('Run', () => (running ? stop() : run()), { kind: 'primary', key: 'Ctrl ⏎' });
  const capInput = h('input', { type: 'text', class: 'short', value: String(CAP_RU), inputmode: 'numeric', 'aria-label': 'Stop at this many RU', oninput: (e) => { cap = Math.max(1, Number(e.target.value) || CAP_RU); } });

  function drawParameters() {
    const names = parametersOf(edit.value);
    params.hidden = !names.length;
    if (names.join() === [...params.querySelectorAll('input')].map((i) => i.dataset.name).join()) return;
    params.replaceChildren(...names.map((n) => h('label', {}, h('code', {}, shown(n, 40)), ' ', h('input', { type: 'text', 'data-name': n, value: values.get(n) ?? '', placeholder: 'text or JSON', oninput: (e) => values.set(n, e.target.value) }))));
  }
  /** JSON where it is JSON, else text. The number stays as it was typed. */
  const parameters = () => parametersOf(edit.value).map((n) => { const v = values.get(n) ?? ''; try { return { name: n, text: write(parse(v)) }; } catch { return { name: n, text: JSON.stringify(v) }; } });
  const explainBody = (extra = '') => `{"query":${JSON.stringify(edit.value)},"parameters":[${parameters().map((p) => `{"name":${JSON.stringify(p.name)},"value":${p.text}}`).join(',')}]${extra}}`;
  function failed(error) {
    let text = error.message;
    const m = /"message":"((?:[^"\\]|\\.)*)"/.exec(text);
    if (m) try { text = JSON.parse(`"${m[1]}"`); } catch { /* as it is */ }
    wrong.textContent = shown(text, 600); say(text);
  }
  function stop() { running?.abort(); running = null; runButton.firstChild.textContent = 'Run'; }
  async function run() {
    if (running) return;
    wrong.textContent = '';
    const mine = new AbortController(), text = edit.value;
    running = mine; runButton.firstChild.textContent = 'Stop';
    at.signal.addEventListener('abort', () => mine.abort());
    rows = []; texts = []; rest = null; hidden = 0; before = null; cost = null;
    try {
      const list = parameters();
      // the server runs the query whole and says where each part of its charge went; rows are read as a client reads them
      const told = await manage('POST', `${base}/explain`, explainBody(`,"format":"tree","analyze":true,"maxItemCount":${PAGE},"maxCharge":${cap}`), { signal: mine.signal });
      if (!at.alive || running !== mine) return;
      cost = costOf(c, told); plans = told.ranges; ran = { text, list, ms: cost.ms };
      drawCost();
      const page = await queryPage(c, text, { parameters: list, size: PAGE, signal: mine.signal });
      if (!at.alive || running !== mine) return;
      rows = page.rows; texts = page.texts; rest = page.continuation; hidden = rest ? Math.max(0, cost.rows - rows.length) : 0;
      if (!cost.isComplete) toast(`Stopped at ${ru(cost.total / 100)} RU; the cap is ${int(cap)}.`);
      history.unshift({ at: Date.now(), text, ru: cost.total / 100, ranges: cost.per.length, of: cost.inAll, rows: cost.rows, more: !cost.isComplete });
      history = history.slice(0, HISTORY_MAX); keep(c, history);
      say(`${plural(cost.rows, 'row')} from ${c.id} for ${ru(cost.total / 100)} RU.`);
    } catch (error) { if (error.name !== 'AbortError') failed(error); else toast('Stopped.'); }
    if (running === mine) { running = null; runButton.firstChild.textContent = 'Run'; }
    if (at.alive) draw();
  }
  /** Rows beyond the first page are fetched only when somebody wants them. */
  async function goOn() {
    const mine = new AbortController(); running = mine;
    try {
      let n = 0, spent = 0;
      do {
        const page = await queryPage(c, ran.text, { parameters: ran.list, continuation: rest, size: PAGE, signal: mine.signal });
        rows.push(...page.rows); texts.push(...page.texts); rest = page.continuation; n += page.rows.length; spent += page.charge;
      } while (rest && n < ROWS_MAX && spent < cap);
      hidden = rest ? Math.max(1, cost.rows - rows.length) : 0;
      toast(`Fetched ${plural(n, 'row')} for ${ru(spent)} RU.`);
    } catch (error) { if (error.name !== 'AbortError') failed(error); }
    running = null; if (at.alive) drawRows();
  }
  async function explain() {
    wrong.textContent = '';
    try {
      const told = await manage('POST', `${base}/explain`, explainBody(), { signal: at.signal });
      cost = costOf(c, told); plans = told.ranges; before = null; ran = null; rows = []; texts = []; rest = null; hidden = 0;
      draw(); say(`Asks ${cost.per.length} of ${cost.inAll} ranges. Nothing was run.`);
    } catch (error) { if (error.name !== 'AbortError') failed(error); }
  }
  async function addIndex(x) {
    try {
      const answer = await call('GET', base), doc = JSON.parse(answer.text), policy = doc.indexingPolicy;
      if (doc._rid !== c.rid) throw new Error('This container was made anew meanwhile.');
      if (x.composite) (policy.compositeIndexes ||= []).push(x.composite.map((p) => { const m = /^(.*?)(?:\s+(ASC|DESC))?$/i.exec(p); return { path: m[1], order: /desc/i.test(m[2] || '') ? 'descending' : 'ascending' }; }));
      else { (policy.includedPaths ||= []).push({ path: x.path }); policy.excludedPaths = (policy.excludedPaths || []).filter((p) => p.path !== x.path); }
      for (const k of ['_rid', '_ts', '_self', '_etag', '_docs', '_sprocs', '_triggers', '_udfs', '_conflicts']) delete doc[k];
      const done = await call('PUT', base, { body: doc, headers: { 'content-type': 'application/json', 'if-match': JSON.parse(answer.text)._etag } });
      define(c, JSON.parse(done.text));
      const was = cost?.total ?? null;
      // items that are there already are indexed in the background: the comparison waits for it, for a while
      for (let i = 0; i < 50 && at.alive; i += 1) {
        const progress = (await call('GET', base, { headers: { 'x-ms-documentdb-populatequotainfo': 'True' } })).headers.get('x-ms-documentdb-collection-index-transformation-progress');
        if (progress === null || Number(progress) >= 100) break;
        await new Promise((done) => { setTimeout(done, 200); });
      }
      toast('Index added. The query runs again.');
      await run(); before = was; if (at.alive) draw();
    } catch (error) { toast(error.message, true); }
  }
  /** A cell's value becomes a condition of the filter. */
  function filter(prop, value, keepIt) {
    const text = edit.value, alias = /\bFROM\s+([A-Za-z_]\w*)/i.exec(text)?.[1] || 'c', condition = `${alias}${name(`/${/^[A-Za-z_]\w*$/.test(prop) ? prop : JSON.stringify(prop)}`)} ${keepIt ? '=' : '!='} ${literal(value)}`;
    const m = /\b(ORDER\s+BY|GROUP\s+BY|OFFSET)\b/i.exec(text), head = m ? text.slice(0, m.index) : text, tail = m ? text.slice(m.index) : '';
    edit.value = /\bWHERE\b/i.test(head) ? `${head.trimEnd()} AND ${condition}\n${tail}`.trimEnd() : `${head.trimEnd()}\nWHERE ${condition}\n${tail}`.trimEnd();
    memory.set(c.id, edit.value); edit.area.focus(); toast('Added to the filter. Ctrl Enter runs it.');
  }
  function drawCost() {
    costPanel.classList.toggle('nothing', !cost);
    sum.replaceChildren(...(cost ? (ran ? costSum(cost, before) : [h('p', { class: 'under' }, `Asks ${cost.per.length} of ${plural(cost.inAll, 'range')}. Nothing was run, so nothing was paid.`)]) : [h('p', { class: 'none' }, 'Run the query to see where its RU go, or explain it without running it.')]));
    fig.el.hidden = !cost;
    why.replaceChildren(...(cost && ran ? [costWhy(c, cost, { addIndex: readOnly() ? null : addIndex, busy: Boolean(running) })] : []));
    fig.redraw();
  }
  function drawRows() {
    pin.textContent = ran ? `${hidden ? 'first ' : ''}${plural(rows.length, 'row')} from ${shown(c.id, 60)}, ${dec(ran.ms, 1)} ms` : '';
    out.replaceChildren(...[view(shownAs, c, rows, texts, { filter })].flat().filter(Boolean));
    if (!ran) out.replaceChildren();
    more.replaceChildren(...[hidden ? button('Fetch the other rows', goOn) : null, rows.length ? button('Save JSON', () => exportRows('json', c.name, rows, texts), { kind: 'tiny' }) : null, rows.length ? button('Save CSV', () => exportRows('csv', c.name, rows, texts), { kind: 'tiny' }) : null].filter(Boolean));
  }
  function drawSide() {
    const top = Math.max(1, ...history.map((x) => x.ru));
    hist.replaceChildren(...history.map((x) => h('li', {}, h('button', { type: 'button', class: 'histitem', onclick: () => { edit.value = x.text; memory.set(c.id, x.text); drawParameters(); run(); } }, h('span', { class: 'code clip' }, shown(x.text.replace(/\s+/g, ' '), 200)), h('span', { class: 'meta' }, h('time', {}, clock(x.at, true)), h('span', {}, `${x.ranges} of ${x.of}`), h('span', {}, `${int(x.rows)}${x.more ? '+' : ''} rows`), h('b', {}, `${ru(x.ru)} RU`)), s('svg', { width: '100%', height: 3, 'aria-hidden': 'true' }, s('rect', { class: 'bar', width: `${Math.max(1, (x.ru / top) * 100)}%`, height: 3 }))))));
    if (!history.length) hist.append(h('li', { class: 'none' }, 'Nothing yet. It stays in this browser.'));
    const groups = new Map(); for (const r of plans) { const p = r.plan; if (p) { if (!groups.has(p)) groups.set(p, []); groups.get(p).push(r.id); } }
    how.replaceChildren(...(plans.length ? [...groups].slice(0, 4).map(([p, ids]) => [groups.size > 1 ? h('p', { class: 'small dim' }, `range ${ids.slice(0, 12).join(', ')}${ids.length > 12 ? '…' : ''}`) : null, h('pre', { class: 'plan', tabindex: 0 }, p)]).flat().filter(Boolean) : [h('p', { class: 'none' }, 'The plan stands here after a run or an explain.')]),
      plans.length ? h('p', { class: 'dim small' }, plans.length === 1 ? 'One range, so there is nothing to merge.' : groups.size === 1 ? `The same in all ${plans.length} ranges. ${cost?.needsMerge ? 'The SDK merges the rows.' : ''}` : 'The best plan differs by range.') : '');
    code.replaceChildren(asCode(cli('explain', c.id, edit.value.replace(/\s+/g, ' ').trim(), ...parameters().flatMap((p) => ['--parameter', `${p.name}=${p.text}`])), curlManage('POST', `${base}/explain`, explainBody())), asCode(null, curlWire('POST', itemsPath(c), JSON.stringify({ query: edit.value, parameters: [] }), queryHeaders())));
  }
  const costPanel = panel('What did it cost, and why?', h('span', { class: 'dim' }, 'lit ranges were asked'), sum, fig.el, why);
  const draw = () => { edit.draw(); drawCost(); drawRows(); drawSide(); };
  edit.area.addEventListener('keydown', (e) => {
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) { e.preventDefault(); run(); } else if (e.key === 'Enter' && e.shiftKey) { e.preventDefault(); explain(); } else if (e.key === 'Escape') { if (running) stop(); else edit.area.blur(); }
  });
  root.append(h('div', { class: 'two' }, h('div', { class: 'col' },
    panel('What do I ask?', h('div', { class: 'row' }, h('label', { class: 'dim' }, 'stop at ', capInput, ' RU'), button('Explain', explain, { key: 'Shift ⏎' }), runButton), edit.el, params, wrong),
    costPanel,
    panel('What came back?', h('div', { class: 'row' }, pin, seg('View', [['table', 'Table'], ['json', 'JSON'], ['tree', 'Tree']], shownAs, (v) => { shownAs = v; at.remember({ view: v }); drawRows(); })), out, more)),
  h('aside', { class: 'col side', 'aria-label': 'History and plan' }, panel('What did I run before?', history.length ? button('Clear', () => { history = []; keep(c, []); drawSide(); }, { kind: 'tiny' }) : null, hist), panel('How does it run?', null, how, code))));
  drawParameters(); draw();
  manage('GET', `${base}/paths`, undefined, { signal: at.signal }).then((a) => { paths = a.paths || []; }).catch(() => {});
  offer(at, 'Run the query', 'Ctrl Enter', run); offer(at, 'Explain the query without running it', 'Shift Enter', explain);
  if (carry.run) { carry.run = false; run(); }
}
