// Settings of a container: throughput, expiry, policies as JSON; what cannot change is said, with the command that copies.
import { h, int, button, panel, toast, shown, kv, seg, bytes, plural } from './dom.js';
import { call, feed, collPath } from './api.js';
import { readOnly, define, reload } from './world.js';
import { ask } from './itemedit.js';
import { editor } from './editor.js';
import { paintJson } from './sql.js';
import { asCode, cli, curlWire } from './code.js';

const FIXED = new Set(['id', 'partitionKey', 'uniqueKeyPolicy', 'conflictResolutionPolicy']);
const clean = (doc) => Object.fromEntries(Object.entries(doc).filter(([k]) => !k.startsWith('_') && !['statistics'].includes(k)));

export function settings(root, at) {
  const { c } = at, base = collPath(c.db, c.name), can = !readOnly(), left = h('div', { class: 'col' }), right = h('aside', { class: 'col side', 'aria-label': 'Throughput' });
  root.append(h('div', { class: 'two' }, left, right));
  let doc = null, etag = '';
  async function read() {
    try {
      const answer = await call('GET', base), offers = await feed('offers', 'Offers').catch(() => []);
      if (!at.alive) return;
      doc = JSON.parse(answer.text); etag = doc._etag;
      draw(offers.find((o) => o.offerResourceId === doc._rid));
    } catch (error) { if (error.name !== 'AbortError') toast(error.message, true); }
  }
  function draw(offer) {
    const edit = editor({ label: 'Settings as JSON', value: JSON.stringify(clean(doc), null, 2), paint: paintJson, rows: 18, readonly: !can, oninput: () => { wrong.textContent = ''; try { JSON.parse(edit.value); } catch { wrong.textContent = 'Not JSON yet.'; } } }), wrong = h('p', { class: 'bad', role: 'alert' });
    const save = async () => {
      let next; try { next = JSON.parse(edit.value); } catch { wrong.textContent = 'Not JSON yet.'; return; }
      const frozen = [...FIXED].find((k) => JSON.stringify(next[k]) !== JSON.stringify(clean(doc)[k]));
      if (frozen) { wrong.textContent = `${frozen} cannot change in a container that exists: copy it with orrery rekey.`; return; }
      try { const answer = await call('PUT', base, { body: next, headers: { 'content-type': 'application/json', 'if-match': etag } }); define(c, JSON.parse(answer.text)); toast(`Saved the settings of ${c.id}.`); if (at.alive) read(); } catch (error) { wrong.textContent = error.status === 412 ? 'Somebody else changed the settings meanwhile; read them again.' : shown(error.message, 400); }
    };
    const ttl = h('select', { 'aria-label': 'Expiry', disabled: !can, onchange: () => { const d = JSON.parse(edit.value); if (ttl.value === 'off') delete d.defaultTtl; else d.defaultTtl = Number(ttl.value); edit.value = JSON.stringify(d, null, 2); } }, [['off', 'items never expire'], ['-1', 'items with a ttl expire'], ['3600', 'after an hour'], ['86400', 'after a day'], ['2592000', 'after 30 days']].map(([v, t]) => h('option', { value: v, selected: String(doc.defaultTtl ?? 'off') === v }, t)));
    left.replaceChildren(panel('What is set?', can ? h('div', { class: 'row' }, h('label', { class: 'dim' }, 'expiry ', ttl), button('Read again', read), button('Save', save, { kind: 'primary' })) : null, edit.el, wrong, asCode(null, curlWire('PUT', base, JSON.stringify(clean(doc))))),
      panel('What cannot change?', null, kv([['partition key', h('bdi', { class: 'code' }, shown(c.paths.join(', ') || 'none', 120))], ['hash', `version ${doc.partitionKey?.version ?? 1}, ${doc.partitionKey?.kind || 'Hash'}`], ['unique keys', doc.uniqueKeyPolicy?.uniqueKeys?.length ? h('bdi', { class: 'code' }, shown(doc.uniqueKeyPolicy.uniqueKeys.map((k) => k.paths.join(' + ')).join(', '), 160)) : 'none'], ['resource id', h('code', {}, shown(doc._rid, 40))]]), h('p', { class: 'small' }, 'A container with another key is a copy: this command makes it, shows its progress, and keeps it up to date until you switch over.'), asCode(cli('rekey', '--database', c.db, '--from', c.name, '--to', `${c.name}-2`, '--partition-key', '/newKey', '--follow'), curlWire('POST', `dbs/${encodeURIComponent(c.db)}/colls`, { id: `${c.name}-2`, partitionKey: { paths: ['/newKey'], kind: 'Hash', version: 2 } }))));
    drawThroughput(offer);
  }
  function drawThroughput(offer) {
    const auto = offer?.content?.offerAutopilotSettings, now = auto ? auto.maxThroughput : offer?.content?.offerThroughput;
    let kind = auto ? 'auto' : 'manual';
    const field = h('input', { type: 'text', class: 'short', inputmode: 'numeric', value: String(now ?? ''), 'aria-label': 'RU/s', disabled: !can }), wrong = h('p', { class: 'bad', role: 'alert' }), code = h('div', {});
    const body = () => { const content = kind === 'auto' ? { offerAutopilotSettings: { maxThroughput: Number(field.value) } } : { offerThroughput: Number(field.value) }; return { ...Object.fromEntries(Object.entries(offer).filter(([k]) => !['_ts', '_etag', 'content'].includes(k))), content }; };
    const headers = () => ({ 'content-type': 'application/json', ...(kind === 'auto' && !auto ? { 'x-ms-cosmos-migrate-offer-to-autopilot': 'true' } : kind === 'manual' && auto ? { 'x-ms-cosmos-migrate-offer-to-manual-throughput': 'true' } : {}) });
    const show = () => offer && code.replaceChildren(asCode(null, curlWire('PUT', `offers/${offer.id}`, body(), headers())));
    field.addEventListener('input', show);
    const save = async () => { wrong.textContent = ''; try { await call('PUT', `offers/${offer.id}`, { body: body(), headers: headers() }); toast(`${c.id} has ${int(Number(field.value))} RU/s.`); await reload(); if (at.alive) read(); } catch (error) { wrong.textContent = shown(error.message, 300); } };
    right.replaceChildren(panel('How much throughput?', null, offer ? [h('div', { class: 'row' }, field, 'RU/s', seg('Throughput', [['manual', 'manual'], ['auto', 'autoscale']], kind, (v) => { kind = v; show(); })), h('p', { class: 'small dim' }, 'More than 10,000 RU/s for each range makes ranges split by themselves.'), can ? h('div', { class: 'row' }, button('Change', save, { kind: 'primary' })) : null, wrong, code] : h('p', {}, c.isShared ? 'It shares the throughput of its database.' : 'Nobody provisioned any: nothing limits it.')),
      can ? panel('Delete the container?', null, h('p', { class: 'small' }, `${plural(c.items, 'item')}, ${bytes(c.bytes)}.`), h('div', { class: 'row' }, button('Delete…', removeAll)), asCode(null, curlWire('DELETE', base))) : '');
    show();
  }
  function removeAll() {
    const typed = h('input', { type: 'text', class: 'wide', 'aria-label': 'Name of the container', autocomplete: 'off' });
    ask(`Delete ${shown(c.id)}?`, `All ${plural(c.items, 'item')} go with it. Type its name to say so.`, 'Delete', async () => {
      if (typed.value !== c.name) { toast('The name was another one. Nothing was deleted.', true); return; }
      try { const live = JSON.parse((await call('GET', base)).text); if (live._rid !== c.rid) throw new Error('This container was made anew meanwhile.'); await call('DELETE', base); toast(`Deleted ${c.id}.`); await reload(); location.hash = '#/'; } catch (error) { toast(error.message, true); }
    }, [typed]);
  }
  read();
}
