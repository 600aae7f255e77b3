// A browser, a server that is running already, and data in it. Every page is watched: what it logs, where it calls, what its
// policy refuses.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const setting = (name) => { const value = process.env[name]; if (!value) throw new Error(`${name} is not set: run this by cargo xtask browser`); return value; };
export const endpoint = setting('ORRERY_ENDPOINT');
export const key = setting('ORRERY_KEY');
export const readOnlyKey = setting('ORRERY_READ_ONLY_KEY');
const folder = setting('ORRERY_SCREENSHOTS');
/** Where the pictures of README are written; none without it. */
export const pictures = process.env.ORRERY_PICTURES;
const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
mkdirSync(folder, { recursive: true });

// Limit: a loaded machine needs seconds for what takes milliseconds.
export const PATIENCE_MS = Number(process.env.ORRERY_BROWSER_PATIENCE_MS || 60_000);

/** Text that must stay text: tags, handlers, schemes, marks that turn text around, a lone half of a character. */
export const HOSTILE = ['<img src=x onerror=window.pwned=1>', '"><svg onload=window.pwned=1>', 'javascript:window.pwned=1', '\u202Eevil\u202C', '{{7*7}}${window.pwned=1}', "'; DROP TABLE c; --", '\u0000\u0007', '𝕏‮\u200B'];

let browser = null;
export async function open() {
  browser ||= await chromium.launch({ executablePath: process.env.ORRERY_CHROMIUM || '/usr/bin/chromium', args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'] });
  return browser;
}
export async function close() { await browser?.close(); browser = null; }

/** A page with a list of everything that went wrong in it. `expected` are patterns of console lines that belong to the test. */
export async function page({ theme = 'light', width = 1280, height = 900, room = '#/', expected = [], signIn = null } = {}) {
  const context = await (await open()).newContext({ viewport: { width, height }, ignoreHTTPSErrors: true, reducedMotion: 'reduce' });
  const it = await context.newPage(), faults = [];
  it.setDefaultTimeout(PATIENCE_MS);
  const note = (text) => { if (!expected.some((pattern) => pattern.test(text))) faults.push(text); };
  it.on('console', (message) => { if (['error', 'warning'].includes(message.type())) note(`console: ${message.text()}`); });
  it.on('pageerror', (error) => note(`error: ${error.stack}`));
  it.on('dialog', (dialog) => { note(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  it.on('request', (request) => { const url = new URL(request.url()); if (url.origin !== new URL(endpoint).origin && !['data:', 'blob:'].includes(url.protocol)) note(`request to ${url.origin}`); });
  await it.addInitScript((chosen) => {
    localStorage.setItem('orrery.theme', chosen);
    addEventListener('securitypolicyviolation', (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`));
  }, theme);
  await it.goto(`${endpoint}_explorer/${room}`);
  if (signIn) { await it.fill('input[type=password]', signIn); await it.keyboard.press('Enter'); }
  it.clean = () => assert.deepEqual(faults, [], 'the page is clean');
  it.go = async (hash) => { await it.evaluate((h) => { location.hash = h; }, hash); };
  await it.waitForSelector('.shell');
  return it;
}
/** A picture for people to look at. */
export async function shot(it, name) { await it.screenshot({ path: join(folder, `${name}.png`) }); }
export async function picture(it, name) { if (pictures) await it.screenshot({ path: join(pictures, `explorer-${name}.png`) }); }

/** Serious findings of axe-core; our policy would refuse its script as a tag, so it goes in by the debugger. */
export async function accessibility(it, name) {
  const { readFileSync } = await import('node:fs');
  await it.evaluate(`${readFileSync(axe, 'utf8')}; true`);
  const found = await it.evaluate(async () => (await window.axe.run(document, { resultTypes: ['violations'] })).violations.map((v) => ({ id: v.id, impact: v.impact, nodes: v.nodes.slice(0, 3).map((n) => `${n.target.join(' ')} ${n.failureSummary?.split('\n')[1] ?? ''}`) })));
  assert.deepEqual(found.filter((v) => ['serious', 'critical'].includes(v.impact)), [], `axe-core on ${name}`);
}

function signature(method, path) {
  const parts = path.split('?')[0].split('/').filter(Boolean).map(decodeURIComponent), odd = parts.length % 2, date = new Date().toUTCString();
  const kind = parts[odd ? parts.length - 1 : parts.length - 2] ?? '', link = kind === 'offers' ? (parts[1] ?? '').toLowerCase() : parts.slice(0, odd ? -1 : undefined).join('/');
  const sig = createHmac('sha256', Buffer.from(key, 'base64')).update(`${method.toLowerCase()}\n${kind}\n${link}\n${date.toLowerCase()}\n\n`).digest('base64');
  return { 'x-ms-date': date, 'x-ms-version': '2020-07-15', authorization: encodeURIComponent(`type=master&ver=1.0&sig=${sig}`) };
}
/** The protocol, beside the page. */
export async function wire(method, path, body, headers = {}) {
  const answer = await fetch(endpoint + path, { method, headers: { ...signature(method, path), 'content-type': 'application/json', ...headers }, body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body) });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, text, get json() { return JSON.parse(text); } };
}
export async function manage(method, path, body) {
  const answer = await fetch(`${endpoint}_orrery/${path}`, { method, headers: { authorization: `Bearer ${key}` }, body: body === undefined ? undefined : JSON.stringify(body) });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return text ? JSON.parse(text) : null;
}
export const ranges = async (coll, db = 'shop') => (await manage('GET', `dbs/${db}/colls/${coll}/ranges`)).ranges;
export async function container(db, coll, path, throughput = 400, more = {}) {
  await wire('POST', 'dbs', { id: db });
  const made = await wire('POST', `dbs/${encodeURIComponent(db)}/colls`, { id: coll, partitionKey: { paths: [path].flat(), kind: [path].flat().length > 1 ? 'MultiHash' : 'Hash', version: 2 }, ...more }, { 'x-ms-offer-throughput': String(throughput), 'x-ms-version': '2020-07-15' });
  assert.ok([201, 409].includes(made.status), made.text);
}
/** Writes until it is taken: throughput is enforced. */
export async function item(db, coll, body, partitionKey) {
  for (;;) {
    const answer = await wire('POST', `dbs/${encodeURIComponent(db)}/colls/${encodeURIComponent(coll)}/docs`, body, { 'x-ms-documentdb-is-upsert': 'True', 'x-ms-documentdb-partitionkey': JSON.stringify(partitionKey).replace(/[\u007F-\uFFFF]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`) });
    if (answer.status !== 429) { assert.ok(answer.status < 300, answer.text); return answer.json; }
    await new Promise((done) => { setTimeout(done, Number(answer.headers.get('x-ms-retry-after-ms') || 50)); });
  }
}
/** Waits until a question is answered with yes. */
export async function until(ask, what) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) { if (await ask()) return; assert.ok(Date.now() < end, `waited in vain for ${what}`); await new Promise((done) => { setTimeout(done, 100); }); }
}
/** Writes one large item of a key again and again: few requests are more than its range may use. Ends with `stop()`. */
export function load(db, coll, id, partitionKey, property, atOnce = 4) {
  let on = true, refused = 0;
  const path = `dbs/${db}/colls/${coll}/docs`, body = { id, [property]: partitionKey[0], note: 'y'.repeat(100_000) };
  const workers = Array.from({ length: atOnce }, async () => { while (on) { const answer = await wire('POST', path, body, { 'x-ms-documentdb-is-upsert': 'True', 'x-ms-documentdb-partitionkey': JSON.stringify(partitionKey) }); if (answer.status === 429) { refused += 1; await new Promise((done) => { setTimeout(done, 60); }); } } });
  return { refused: () => refused, stop: async () => { on = false; await Promise.all(workers); } };
}
