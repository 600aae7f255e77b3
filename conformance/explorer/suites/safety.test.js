// What is shown stays text, what is asked for stays in its container, and who may not call is refused.
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, test } from 'node:test';
import { HOSTILE, accessibility, close, container, endpoint, item, key, manage, page, readOnlyKey, shot, until, wire } from '../support.js';

const BIG = 'B'.repeat(1_000_000);
/** Names of resources may have no slash, backslash, question mark or hash. */
const NAME = "<b onclick=window.pwned=1>x'\"&";

before(async () => {
  await container(NAME, NAME, '/key', 1000);
  for (const [i, text] of HOSTILE.entries()) await item(NAME, NAME, { id: `h${i} ${text.replace(/[/\\?#\u0000-\u001F]/g, '_').slice(0, 60)}`, key: text, [text]: text, nested: { [text]: [text] }, n: i }, [text]);
  await item(NAME, NAME, { id: 'big', key: 'big', big: BIG }, ['big']);
  const raw = '{"id":"lone","key":"lone","lone":"\\ud800 and \\udc00","exact":9007199254740993,"long":0.1000000000000000055511151231257827}';
  await item(NAME, NAME, raw, ['lone']);
  await wire('POST', `dbs/${encodeURIComponent(NAME)}/colls/${encodeURIComponent(NAME)}/sprocs`, { id: NAME, body: 'function f() { console.log("</pre><img src=x onerror=window.pwned=1>"); getContext().getResponse().setBody("<script>window.pwned=1</script>"); }' });
  await container('shop', 'first', '/customer', 1000); await container('shop', 'second', '/customer', 1000);
  for (const coll of ['first', 'second']) for (let i = 0; i < 5; i += 1) await item('shop', coll, { id: `i-${i}`, customer: 'c', n: i }, ['c']);
});
after(close);

const hash = (room) => `#/${encodeURIComponent(NAME)}/${encodeURIComponent(NAME)}/${room}`;
const harmless = async (it, where) => {
  assert.equal(await it.evaluate(() => window.pwned), undefined, where);
  assert.equal(await it.evaluate(() => document.querySelectorAll('img, iframe, object, embed, script:not([src]), [onerror], [onload], [onclick], a[href^="javascript"]').length), 0, where);
  assert.equal(await it.evaluate(() => /[\u202A-\u202E\u2066-\u2069]/.test([...document.querySelectorAll('body *:not(textarea):not(pre)')].flatMap((e) => [...e.childNodes]).filter((n) => n.nodeType === 3 && !n.parentElement.closest('pre')).map((n) => n.data).join(''))), false, `${where}: marks that turn text`);
};

test('hostile strings stay text in every place', async () => {
  const it = await page({ room: '#/' });
  await it.waitForSelector('.containers tbody tr'); await harmless(it, 'overview');
  await it.keyboard.press('Control+k'); await it.keyboard.type('onclick'); await harmless(it, 'palette'); await it.keyboard.press('Escape');
  for (const room of ['map', 'heat', 'keys', 'live', 'data']) {
    await it.go(hash(room)); await it.waitForSelector(`main.${room} .panel`); await it.waitForTimeout(500); await harmless(it, room);
  }
  await it.waitForSelector('.vrow[data-i="0"]');
  const n = await it.locator('.data .vrow[data-i]').count();
  assert.equal(n, HOSTILE.length + 2);
  for (let i = 0; i < n; i += 1) { await it.click(`.vrow[data-i="${i}"]`); await it.waitForTimeout(80); await harmless(it, `item ${i}`); }
  await shot(it, 'hostile-data');
  await it.go(hash('keys')); await it.waitForSelector('.vrow[data-i="0"]');
  for (let i = 0; i < n; i += 1) { await it.click(`.vrow[data-i="${i}"]`); await harmless(it, `key ${i}`); }
  await it.go(hash('query')); await it.fill('.src', 'SELECT * FROM c'); await it.click('button:has-text("Run")'); await it.waitForSelector('.results tbody tr');
  await harmless(it, 'rows'); await shot(it, 'hostile-query');
  for (const view of ['JSON', 'Tree']) { await it.click(`button:text-is("${view}")`); await it.waitForTimeout(200); await harmless(it, view); }
  await it.click('button:text-is("Table")'); await it.click('.cellbtn >> nth=1'); await it.waitForSelector('dialog.cell'); await harmless(it, 'cell'); await it.keyboard.press('Escape');
  await it.fill('.src', 'SELECT <img src=x onerror=window.pwned=1>'); await it.keyboard.press('Control+Enter'); await it.waitForSelector('.bad:not(:empty)'); await harmless(it, 'message of an error');
  await it.go(`${hash('data')}?part=scripts`); await it.click('.scriptlist button'); await it.fill('[aria-label="Partition key as JSON"]', '["big"]'); await it.click('.runner button'); await it.waitForSelector('[aria-label="Log"]'); await harmless(it, 'script');
  await it.go('#/%3Cimg%20src=x%20onerror=window.pwned=1%3E/x/map'); await it.waitForSelector('text=There is no such container'); await harmless(it, 'address');
  assert.ok((await it.evaluate(() => performance.memory?.usedJSHeapSize ?? 0)) < 150e6);
  assert.deepEqual(await it.evaluate(() => window.pwned), undefined);
  await it.context().close();
});

test('numbers are shown and saved as they were written', async () => {
  const it = await page({ room: hash('data') });
  await it.click('.vrow:has-text("lone")'); await it.waitForSelector('.side .editor');
  const text = await it.inputValue('.side textarea');
  assert.match(text, /9007199254740993\b/);
  await it.fill('.side textarea', text.replace('"key": "lone"', '"key": "lone", "more": 12345678901234567890'));
  await it.keyboard.press('Control+s'); await it.waitForSelector('.toast:has-text("Saved")');
  const answer = await wire('GET', `dbs/${encodeURIComponent(NAME)}/colls/${encodeURIComponent(NAME)}/docs/lone`, undefined, { 'x-ms-documentdb-partitionkey': '["lone"]' });
  assert.match(answer.text, /9007199254740993\b/);
  it.clean(); await it.context().close();
});

test('rows that were chosen in one container cannot be deleted in another', async () => {
  const it = await page({ room: '#/shop/first/data' }), count = async (coll) => Number((await manage('GET', `dbs/shop/colls/${coll}/ranges`)).ranges.reduce((n, r) => n + r.items, 0));
  await it.waitForSelector('.vrow[data-i="4"]');
  for (let i = 0; i < 3; i += 1) await it.check(`.vrow[data-i="${i}"] input`);
  await it.click('text=Change the chosen'); await it.waitForSelector('dialog.bulk button:text-is("Delete"):enabled');
  await it.go('#/shop/second/data');
  await it.waitForSelector('h1:has-text("second")');
  assert.equal(await it.locator('dialog[open]').count(), 0, 'the question went with its container');
  await it.waitForSelector('.vrow[data-i="4"]');
  assert.equal(await it.locator('.vrow input:checked').count(), 0); assert.equal(await it.locator('text=Change the chosen').count(), 0);
  assert.deepEqual([await count('first'), await count('second')], [5, 5]);
  // and a container that is made anew under the same name is another one
  await it.check('.vrow[data-i="0"] input'); await it.click('text=Change the chosen'); await it.waitForSelector('dialog.bulk button:text-is("Delete"):enabled');
  await it.evaluate(() => { window.kept = document.querySelector('dialog.bulk .primary'); });
  await wire('DELETE', 'dbs/shop/colls/second'); await container('shop', 'second', '/customer', 1000); await item('shop', 'second', { id: 'i-0', customer: 'c' }, ['c']);
  await it.evaluate(() => window.kept.click());
  await it.waitForTimeout(1500);
  assert.equal(await count('second'), 1);
  await it.context().close();
});

test('deleting and patching many items counts and prices before, and reports after', async () => {
  const it = await page({ room: '#/shop/first/data' });
  await it.waitForSelector('.vrow[data-i="4"]');
  await it.click('text=Change all that match'); await it.click('dialog button:text-is("Patch")');
  await it.fill('[aria-label="Patch operations"]', '[{"op":"set","path":"/big","value":9007199254740993}]');
  await it.waitForSelector('.preview b:has-text("5 items of shop/first")'); assert.match(await it.textContent('.preview'), /RU each/);
  assert.doesNotMatch((await wire('GET', 'dbs/shop/colls/first/docs/i-1', undefined, { 'x-ms-documentdb-partitionkey': '["c"]' })).text, /9007199254740993/, 'the price changes nothing');
  await it.click('dialog .primary:text-is("Patch")'); await it.waitForSelector('.preview:has-text("Patched 5 of 5 in shop/first")'); await shot(it, 'bulk');
  assert.match((await wire('GET', 'dbs/shop/colls/first/docs/i-1', undefined, { 'x-ms-documentdb-partitionkey': '["c"]' })).text, /9007199254740993/);
  await it.click('dialog button:text-is("Close")');
  await it.waitForSelector('.vrow[data-i="1"]'); await it.check('.vrow[data-i="0"] input'); await it.check('.vrow[data-i="1"] input');
  await it.click('text=Change the chosen'); await it.waitForSelector('dialog .primary:text-is("Delete"):enabled'); await it.click('dialog .primary:text-is("Delete")');
  await it.waitForSelector('.preview:has-text("Deleted 2 of 2 in shop/first")');
  await it.context().close();
});

test('a save over somebody else’s is refused and shown as three versions', async () => {
  const it = await page({ room: '#/shop/first/data', expected: [/412/] });
  await it.click('.vrow:has-text("i-4")'); await it.waitForSelector('.side .editor');
  await it.fill('.side textarea', (await it.inputValue('.side textarea')).replace('"n": 4', '"n": 4,\n  "mine": 1'));
  await item('shop', 'first', { id: 'i-4', customer: 'c', n: 4, theirs: 2 }, ['c']);
  await it.click('.side button:has-text("Save")'); await it.waitForSelector('dialog.three'); await shot(it, 'three-way'); await accessibility(it, 'three versions');
  const both = it.locator('dialog.three button:text-is("Both changes")');
  if (await both.count()) await both.click(); else await it.click('dialog.three button:text-is("Mine")');
  await it.click('.side button:has-text("Save")'); await it.waitForSelector('.toast:has-text("Saved")');
  const answer = await wire('GET', 'dbs/shop/colls/first/docs/i-4', undefined, { 'x-ms-documentdb-partitionkey': '["c"]' });
  assert.equal(answer.json.mine, 1);
  it.clean(); await it.context().close();
});

test('a key that only reads gives a page that only reads', async () => {
  const it = await page({ expected: [/401|403/] });
  await it.evaluate(async (k) => { await fetch('session', { method: 'POST', headers: { 'x-orrery-explorer': '1', 'content-type': 'application/json' }, body: JSON.stringify({ key: k }) }); }, readOnlyKey);
  await it.reload(); await it.waitForSelector('.railfoot:has-text("read only")');
  assert.equal(await it.locator('button:text-is("Create container")').count(), 0);
  await it.go('#/shop/first/data'); await it.waitForSelector('.vrow[data-i="0"]'); await it.click('.vrow[data-i="0"]');
  assert.equal(await it.locator('.side button:has-text("Save")').count(), 0); assert.equal(await it.locator('text=Upload').count(), 0);
  await it.go('#/shop/first/map'); await it.waitForSelector('.acts'); assert.ok(await it.isDisabled('button:has-text("Split…")'));
  const status = await it.evaluate(async () => (await fetch('../dbs/shop/colls/first/docs', { method: 'POST', headers: { 'x-orrery-explorer': '1', 'content-type': 'application/json', 'x-ms-documentdb-partitionkey': '["c"]' }, body: '{"id":"no","customer":"c"}' })).status);
  assert.equal(status, 403); await shot(it, 'read-only'); await it.context().close();
});

test('a wrong key is refused at the door, and a right one lets in', async () => {
  const it = await page({ expected: [/401/] });
  await it.click('button:text-is("Sign out")'); await until(async () => (await it.locator('.shell, .signin').count()) > 0, 'the page again');
  if (await it.locator('.signin').count()) { await it.fill('input[type=password]', 'bm90IGEga2V5'); await it.keyboard.press('Enter'); await it.waitForSelector('text=This is not a key'); await it.fill('input[type=password]', key); await it.keyboard.press('Enter'); await it.waitForSelector('.shell'); }
  await it.context().close();
});

/** A request with headers that fetch would not send. */
const ask = (path, headers, method = 'GET') => new Promise((done, fail) => { const url = new URL(endpoint); const q = request({ host: '127.0.0.1', port: url.port, path, method, headers }, (a) => { a.resume(); done(a.statusCode); }); q.on('error', fail); q.end(); });

test('rebound names, pages of other origins and calls without the cookie are refused', async () => {
  const it = await page(), cookie = (await it.context().cookies()).map((c) => `${c.name}=${c.value}`).join('; '), host = new URL(endpoint).host, own = { host, cookie, 'x-orrery-explorer': '1' };
  assert.ok(cookie);
  assert.equal(await ask('/_orrery/ranges', own), 200);
  assert.equal(await ask('/_orrery/ranges', { ...own, host: 'rebound.example' }), 421);
  assert.equal(await ask('/_explorer/', { host: 'rebound.example' }), 421);
  assert.equal(await ask('/_orrery/ranges', { host, cookie }), 401, 'the cookie without our header');
  assert.equal(await ask('/_orrery/ranges', { host, 'x-orrery-explorer': '1' }), 401, 'our header without the cookie');
  assert.ok([401, 403].includes(await ask('/_orrery/dbs/shop/colls/first/reset', { ...own, origin: 'http://evil.example' }, 'POST')));
  assert.ok([401, 403].includes(await ask('/_orrery/dbs/shop/colls/first/reset', { ...own, 'sec-fetch-site': 'cross-site' }, 'POST')));
  assert.ok((await it.context().cookies()).every((c) => c.httpOnly && c.sameSite === 'Strict'));
  await it.context().close();
});
