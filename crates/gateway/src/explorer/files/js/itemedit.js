// One item: its text as it was sent, where it lives, and saving under its ETag.
import { h, s, button, panel, kv, toast, shown, when, bytes, ru, dialog, say } from './dom.js';
import { parse, pretty, own, keyOf, keyText, write } from './json.js';
import { manage } from './api.js';
import { rangeAt, hex, readOnly } from './world.js';
import { createItem, readItem, replaceItem, deleteItem, itemPath, keyHeader } from './wire.js';
import { axisFigure, axis, strip } from './strip.js';
import { paintJson } from './sql.js';
import { editor } from './editor.js';
import { compareDialog } from './diff.js';
import { asCode, curlWire } from './code.js';
import { charge, ApiError } from './api.js';

/** The editor at the side of Data. `changed(item)` is told of what was saved; null is a deleted one. */
export function itemEditor(at, changed) {
  const { c } = at, can = !readOnly(), el = h('div', { class: 'col' });
  let item = null, base = '', spot = null, isNew = false, asked = 0;
  const edit = editor({ label: 'Item as JSON', paint: paintJson, rows: 12, oninput: () => drawState(), readonly: !can });
  const state = h('p', { class: 'small dim', role: 'status' }), facts = h('div', {}), head = h('h2', {}), key = h('span', { class: 'dim' }), code = h('div', {}), wrong = h('p', { class: 'bad', role: 'alert' });
  const saveButton = button('Save', () => save(), { kind: 'primary', key: 'Ctrl S' });
  const fig = axisFigure({ label: 'Where the item lives', height: 58, draw(ctx) {
    const r = spot && rangeAt(c, spot.place);
    strip(ctx, 8, 24, c.ranges, { uid: 'data', selected: r?.id }); ctx.left(24, 'ranges', 'dim');
    if (r) { const x = ctx.x(spot.place); ctx.right(24, `range ${r.id}, ${hex(spot.place)}`, 'you'); ctx.add(s('g', { class: 'pin' }, s('path', { d: `M${x} 31l5 7h-10z` }))); }
    axis(ctx, 36);
  } });
  async function place() {
    spot = null; fig.redraw();
    if (!item) return;
    const mine = asked += 1;
    try {
      const told = await manage('POST', 'place', `{"definition":${JSON.stringify({ paths: c.definition.paths, kind: c.definition.kind, version: c.definition.version })},"keys":[${write(item.key)}]}`, { signal: at.signal });
      if (mine === asked) { spot = told.places[0]; fig.redraw(); }
    } catch { /* the strip stays without its mark */ }
  }
  const isDirty = () => edit.value !== base;
  function drawState() {
    wrong.textContent = '';
    saveButton.disabled = !can || (!isNew && !isDirty());
    let text = isNew ? 'new' : isDirty() ? 'changed here, not saved' : 'as on the server';
    try { parse(edit.value); } catch (error) { text = error.message; }
    state.textContent = text;
  }
  function draw() {
    if (!item) {
      el.replaceChildren(panel('Which item?', null, h('p', { class: 'none' }, 'Choose one from the list, or write a new one.'), can ? h('div', { class: 'row' }, button('New item', () => create(), { kind: 'primary' })) : null));
      return;
    }
    const m = item.map, id = m?.get('id') ?? '';
    head.replaceChildren(h('bdi', {}, isNew ? 'New item' : shown(id, 60)));
    key.replaceChildren(h('bdi', { class: 'code' }, shown(keyText(item.key), 40)));
    facts.replaceChildren(isNew ? '' : kv([['etag', h('code', {}, shown(m.get('_etag') || '–', 60))], ['changed', m.get('_ts') ? when(Number(m.get('_ts')) * 1000, true) : '–'], ['size', bytes(new TextEncoder().encode(own(item.text)).length)]]));
    el.replaceChildren(h('section', { class: 'panel' }, h('header', {}, head, key), edit.el, state, wrong, facts,
      can ? h('div', { class: 'row' }, saveButton, isNew ? null : button('Compare', () => compare('Compare', 'What the server has now, beside what is here.')), isNew ? null : button('Copy as new', () => create(edit.value)), isNew ? null : button('Delete…', remove)) : null, code));
    if (!isNew) code.replaceChildren(asCode(null, curlWire('GET', itemPath(c, id), undefined, keyHeader(item.key)))); else code.replaceChildren();
    drawState();
  }
  function adopt(text) { const map = parse(text); item = { text, map, key: keyOf(map, c.paths) }; isNew = false; base = pretty(own(text)); edit.value = base; draw(); place(); }
  function open(text) {
    if (item && isDirty() && !isNew) { const next = text; ask('Leave the changes?', `Item ${shown(item.map.get('id') || '', 60)} of ${shown(c.id)} is changed here and not saved.`, 'Leave them', () => adopt(next)); return; }
    adopt(text);
  }
  function create(text) {
    const sample = `{\n  "id": "${crypto.randomUUID?.() || Date.now()}"${c.paths.filter((p) => p !== '/id' && p.split('/').length === 2).map((p) => `,\n  ${JSON.stringify(p.slice(1).replace(/^"(.*)"$/s, '$1'))}: ""`).join('')}\n}`;
    item = { text: sample, map: new Map(), key: [] }; isNew = true; base = ''; edit.value = text || sample; spot = null;
    draw(); edit.area.focus();
  }
  async function save() {
    wrong.textContent = '';
    let map; try { map = parse(edit.value); } catch (error) { wrong.textContent = error.message; return; }
    if (!(map instanceof Map)) { wrong.textContent = 'An item is a JSON object.'; return; }
    try {
      if (isNew) { const answer = await createItem(c, edit.value, keyOf(map, c.paths)); done(answer); return; }
      const answer = await replaceItem(c, item.map.get('id'), edit.value, item.key, item.map.get('_etag'));
      if (answer.status === 412) { await compare('Somebody else saved this item', 'Your save was refused with 412: its ETag had changed. Choose what to go on with; nothing is saved yet.'); return; }
      if (!answer.ok) throw new ApiError('PUT', itemPath(c, ''), answer);
      done(answer);
    } catch (error) { wrong.textContent = shown(error.message, 300); say(error.message); }
  }
  function done(answer) { toast(`Saved in ${c.id} for ${ru(charge(answer))} RU.`); if (!at.alive) return; adopt(answer.text); changed(item); }
  /** Reads the item again; what is chosen stands in the editor under the new ETag. */
  async function compare(title, note) {
    try {
      const now = await readItem(c, item.map.get('id'), item.key, { signal: at.signal }), mine = edit.value;
      if (!at.alive) return;
      let tidy = mine; try { tidy = pretty(mine); } catch { /* as it is */ }
      compareDialog({ title, note, base, mine: tidy, theirs: pretty(own(now.text)), pick: (text) => { adopt(now.text); edit.value = text; drawState(); edit.area.focus(); } });
    } catch (error) { if (error.name !== 'AbortError') wrong.textContent = error.status === 404 ? 'The item is gone from the server.' : shown(error.message, 300); }
  }
  function remove() {
    const { map, key: k } = item, id = map.get('id');
    ask(`Delete ${shown(id, 60)}?`, `From ${shown(c.id)}, key ${shown(keyText(k), 60)}, as it was read: an item that has changed meanwhile stays.`, 'Delete', async () => {
      const answer = await deleteItem(c, id, k, map.get('_etag'));
      if (!answer.ok) { toast(answer.status === 412 ? 'It has changed meanwhile; it was not deleted.' : new ApiError('DELETE', '', answer).message, true); return; }
      toast(`Deleted from ${c.id} for ${ru(charge(answer))} RU.`);
      if (at.alive) { const old = item; item = null; draw(); changed(old, true); }
    });
  }
  edit.area.addEventListener('keydown', (e) => { if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === 's') { e.preventDefault(); save(); } });
  draw();
  return { el, fig, open, create, isNew: () => isNew, close: () => { item = null; draw(); } };
}
/** A question with one action; it names what it is about. */
export function ask(title, text, label, run, more = []) {
  const box = dialog('ask', title, h('h2', { class: 'title' }, title), h('p', {}, text), ...more, h('footer', { class: 'row' }, h('span', { class: 'grow' }), button('Cancel', () => box.close()), button(label, () => { box.close(); run(); }, { kind: 'primary' })));
  return box;
}
