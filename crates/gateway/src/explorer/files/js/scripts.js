// Scripts of a container: procedures, triggers, functions. An editor, and a runner with its log and its charge.
import { h, button, panel, toast, shown, ru, seg, dec } from './dom.js';
import { call, send, feed, collPath, enc, charge, ApiError } from './api.js';
import { parse, pretty, headerKey } from './json.js';
import { readOnly } from './world.js';
import { ask } from './itemedit.js';
import { editor } from './editor.js';
import { paintJson } from './sql.js';
import { asCode, curlWire } from './code.js';

const KINDS = { sprocs: ['Procedure', 'StoredProcedures', 'function run(name) {\n  var context = getContext();\n  console.log("for " + name);\n  context.getResponse().setBody({ hello: name });\n}'], triggers: ['Trigger', 'Triggers', 'function before() {\n  var request = getContext().getRequest();\n  var item = request.getBody();\n  item.seen = true;\n  request.setBody(item);\n}'], udfs: ['Function', 'UserDefinedFunctions', 'function tax(total) {\n  return total * 0.08;\n}'] };
const JS = /(\/\/[^\n]*|\/\*[\s\S]*?\*\/)|('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)|\b(\d+(?:\.\d+)?)\b|\b(function|var|let|const|if|else|for|while|return|new|throw|try|catch|finally|typeof|in|of|do|switch|case|break|continue|null|true|false|undefined|this)\b/g;
function paintJs(text) {
  const out = []; let end = 0;
  for (const m of text.matchAll(JS)) { out.push(text.slice(end, m.index), h('span', { class: `k-${m[1] ? 'rem' : m[2] ? 'str' : m[3] ? 'num' : 'word'}` }, m[0])); end = m.index + m[0].length; }
  out.push(text.slice(end));
  return out;
}

export function scripts(root, at) {
  const { c } = at, base = collPath(c.db, c.name), can = !readOnly(), found = { sprocs: [], triggers: [], udfs: [] };
  let kind = 'sprocs', open = null, isNew = false;
  const list = h('ul', { class: 'scriptlist' }), right = h('div', {}), wrong = h('p', { class: 'bad', role: 'alert' }), out = h('div', {}), code = h('div', {});
  const name = h('input', { type: 'text', 'aria-label': 'Name of the script', placeholder: 'name' }), edit = editor({ label: 'Body of the script', paint: paintJs, rows: 12, readonly: !can });
  const key = h('input', { type: 'text', 'aria-label': 'Partition key as JSON', placeholder: '["value"]  key' }), args = h('input', { type: 'text', 'aria-label': 'Arguments as JSON', placeholder: '["a", 1]  arguments', value: '[]' });
  const type = h('select', { 'aria-label': 'When the trigger runs' }, ['Pre', 'Post'].map((t) => h('option', { value: t }, t))), operation = h('select', { 'aria-label': 'Operation of the trigger' }, ['All', 'Create', 'Replace', 'Delete', 'Upsert'].map((t) => h('option', { value: t }, t)));
  const path = (id) => `${base}/${kind}${id === undefined ? '' : `/${enc(id)}`}`;
  async function read() {
    try { for (const k of Object.keys(KINDS)) found[k] = await feed(`${base}/${k}`, KINDS[k][1]); } catch (error) { if (error.name !== 'AbortError') toast(error.message, true); }
    if (at.alive) draw();
  }
  function show(script) { open = script; isNew = false; name.value = script.id; edit.value = script.body || ''; if (script.triggerType) type.value = script.triggerType; if (script.triggerOperation) operation.value = script.triggerOperation; out.replaceChildren(); draw(); }
  function create() { open = { id: '' }; isNew = true; name.value = ''; edit.value = KINDS[kind][2]; out.replaceChildren(); draw(); name.focus(); }
  async function save() {
    wrong.textContent = '';
    const body = { id: name.value.trim(), body: edit.value, ...(kind === 'triggers' ? { triggerType: type.value, triggerOperation: operation.value } : {}) };
    try {
      const answer = await call(isNew ? 'POST' : 'PUT', isNew ? path() : path(open.id), { body, headers: { 'content-type': 'application/json' } });
      toast(`Saved ${body.id} in ${c.id}.`); if (!at.alive) return;
      open = JSON.parse(answer.text); isNew = false; await read();
    } catch (error) { wrong.textContent = shown(error.message, 300); }
  }
  const remove = () => ask(`Delete ${shown(open.id, 60)}?`, `The ${KINDS[kind][0].toLowerCase()} of ${shown(c.id)}.`, 'Delete', async () => { try { await call('DELETE', path(open.id)); toast(`Deleted ${open.id} from ${c.id}.`); open = null; if (at.alive) await read(); } catch (error) { toast(error.message, true); } });
  /** Runs a procedure in one logical partition; what it logged is shown whether it failed or not. */
  async function run() {
    wrong.textContent = ''; out.replaceChildren(h('p', { class: 'dim' }, 'Running…'));
    try {
      const k = key.value.trim() ? parse(key.value) : [], a = args.value.trim() || '[]';
      if (!Array.isArray(k) || !Array.isArray(parse(a))) throw new Error('Key and arguments are JSON arrays.');
      const answer = await send('POST', path(open.id), { body: a, headers: { 'content-type': 'application/json', 'x-ms-documentdb-script-enable-logging': 'True', 'x-ms-documentdb-partitionkey': headerKey(k) } });
      const log = answer.headers.get('x-ms-documentdb-script-log-results'), error = answer.ok ? null : new ApiError('POST', '', answer);
      let text = answer.text; try { text = pretty(answer.text); } catch { /* not JSON */ }
      out.replaceChildren(h('h3', {}, answer.ok ? `Answered ${answer.status} for ${ru(charge(answer))} RU in ${dec(answer.ms, 1)} ms` : `Failed with ${answer.status}, ${ru(charge(answer))} RU; nothing of it was kept`), h('pre', { class: 'code json', tabindex: 0, 'aria-label': 'Result' }, error ? shown(error.message, 4000) : paintJson(text)), h('h3', {}, 'Log'), h('pre', { class: 'code', tabindex: 0, 'aria-label': 'Log' }, log ? decodeURIComponent(log) : 'nothing was logged'));
    } catch (error) { out.replaceChildren(); wrong.textContent = shown(error.message, 300); }
  }
  function draw() {
    list.replaceChildren(...found[kind].map((x) => h('li', {}, h('button', { type: 'button', 'aria-current': open && !isNew && x.id === open.id ? 'true' : null, onclick: () => show(x) }, h('bdi', {}, shown(x.id, 60))))));
    if (!found[kind].length) list.append(h('li', { class: 'none' }, `No ${KINDS[kind][0].toLowerCase()} yet.`));
    if (!open) { right.replaceChildren(h('p', { class: 'none' }, 'Choose one, or write a new one.')); return; }
    right.replaceChildren(...[h('div', { class: 'row' }, h('label', {}, 'name ', name), kind === 'triggers' ? [h('label', {}, 'runs ', type), h('label', {}, 'on ', operation)] : null, h('span', { class: 'grow' }), can ? [button('Save', save, { kind: 'primary' }), isNew ? null : button('Delete…', remove)] : null), edit.el, wrong,
      kind === 'sprocs' && !isNew ? h('div', { class: 'runner' }, h('h3', {}, `Run it in one logical partition of ${shown(c.id, 60)}`), h('div', { class: 'row' }, key, args, button('Run', run, { kind: 'primary', disabled: !can })), out) : null, code].filter(Boolean));
    name.disabled = !isNew;
    code.replaceChildren(asCode(null, isNew ? curlWire('POST', path(), { id: name.value, body: edit.value }) : kind === 'sprocs' ? curlWire('POST', path(open.id), args.value, { 'x-ms-documentdb-partitionkey': key.value || '[]', 'x-ms-documentdb-script-enable-logging': 'True' }) : curlWire('GET', path(open.id))));
  }
  root.append(panel('Which scripts are there?', h('div', { class: 'row' }, seg('Kind', Object.entries(KINDS).map(([k, [t]]) => [k, `${t}s`]), kind, (v) => { kind = v; open = null; draw(); }), can ? button('New', create) : null), h('div', { class: 'scripts' }, list, right)));
  read();
}
