// Every room by mouse and by the keyboard alone, against real data, with splits and throttling going on.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { accessibility, close, container, item, load, manage, page, picture, pictures, ranges, shot, until, wire } from '../support.js';

const ROOMS = ['map', 'heat', 'keys', 'query', 'data', 'live'];
const CITIES = ['Bern', 'Lyon', 'Graz', 'Oslo', 'Turin'];
let busy = null;

before(async () => {
  await container('shop', 'orders', '/customer', 20000);
  await container('shop', 'small', '/customer', 400);
  await container('shop', 'other', '/customer', 1000);
  await container('saas', 'events', ['/tenant', '/user'], 1000);
  const work = [];
  for (let i = 0; i < 240; i += 1) { const customer = i % 4 === 0 ? 'c-hot' : `c-${i % 40}`; work.push(() => item('shop', 'orders', { id: `o-${i}`, customer, city: CITIES[i % 5], total: i * 1.25, status: i % 3 ? 'open' : 'paid', note: 'x'.repeat(400) }, [customer])); }
  for (let i = 0; i < 12; i += 1) { work.push(() => item('shop', 'small', { id: `s-${i}`, customer: 'hot', note: 'y'.repeat(2000) }, ['hot'])); work.push(() => item('saas', 'events', { id: `e-${i}`, tenant: `t-${i % 3}`, user: `u-${i}` }, [`t-${i % 3}`, `u-${i}`])); }
  await Promise.all(Array.from({ length: 8 }, async () => { for (let next = work.pop(); next; next = work.pop()) await next(); }));
  busy = load('shop', 'small', 'heavy', ['hot'], 'customer');
});
after(async () => { await busy?.stop(); await close(); });

for (const theme of ['light', 'dark']) {
  test(`every room by mouse, ${theme}, with no serious finding of axe-core`, async () => {
    const it = await page({ theme });
    await it.waitForSelector('.containers tbody tr');
    await it.waitForTimeout(600);
    await shot(it, `overview-${theme}-1280`); await accessibility(it, `overview, ${theme}`);
    await it.click('.containers a:text-is("orders")');
    for (const room of ROOMS) {
      await it.click(`.tabs a:text-is("${room[0].toUpperCase()}${room.slice(1)}")`);
      await it.waitForSelector(`main.${room} .panel`);
      if (room === 'query') { await it.fill('.src', "SELECT c.id, c.customer, c.total FROM c WHERE c.city = 'Bern' AND c.total > 90 ORDER BY c.total DESC"); await it.click('button:has-text("Run")'); await it.waitForSelector('.results tbody tr'); }
      if (room === 'keys') { await it.waitForSelector('.vrow[data-i="0"]'); await it.click('.vrow[data-i="0"]'); await it.waitForSelector('.answer .path'); }
      if (room === 'data') { await it.waitForSelector('.vrow[data-i="0"]'); await it.click('.vrow[data-i="0"]'); await it.waitForSelector('.side .editor'); }
      await it.waitForTimeout(700);
      assert.match(await it.textContent('h1'), /orders/);
      await shot(it, `${room}-${theme}-1280`); await accessibility(it, `${room}, ${theme}`);
      await it.setViewportSize({ width: 800, height: 1000 }); await it.waitForTimeout(300); await shot(it, `${room}-${theme}-800`);
      assert.ok(await it.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), `${room} is no wider than the window`);
      await it.setViewportSize({ width: 1280, height: 900 });
    }
    it.clean(); await it.context().close();
  });
}

test('the keyboard alone reaches every room, splits a range, asks a query and saves an item', async () => {
  const it = await page({ room: '#/shop/orders/map' }), press = (k) => it.keyboard.press(k);
  await it.waitForSelector('.strip .cell');
  const n = (await ranges('orders')).length;
  await until(async () => { await press('Tab'); return it.evaluate(() => document.activeElement.classList.contains('strip')); }, 'the strip by Tab');
  await press('End'); await press('ArrowLeft'); await press('s');
  await it.waitForSelector('.handle:focus');
  await press('ArrowRight'); await press('Shift+ArrowLeft'); await press('b'); await press('Enter');
  await until(async () => (await ranges('orders')).length === n + 1, 'one range more');
  await until(async () => (await it.locator('.strip .cell').count()) === n + 1, 'the new boundary in the picture');
  await shot(it, 'map-after-split');
  for (const [letter, room] of [['h', 'heat'], ['k', 'keys'], ['q', 'query'], ['d', 'data'], ['l', 'live'], ['o', 'overview'], ['m', 'map']]) {
    await it.evaluate(() => document.activeElement?.blur());
    await press('g'); await press(letter); await it.waitForSelector(`main.${room}`);
  }
  await press('Control+k'); await it.waitForSelector('.pal'); await it.keyboard.type('query'); await press('Enter'); await it.waitForSelector('main.query');
  await press('/'); await press('Control+a'); await it.keyboard.type("SELECT VALUE COUNT(1) FROM c WHERE c.customer = 'c-hot'"); await press('Escape'); await press('/'); await press('Control+Enter');
  await it.waitForSelector('.results tbody tr');
  assert.match(await it.textContent('.results tbody'), /60/);
  await press('Shift+Enter'); await it.waitForSelector('text=Nothing was run');
  await press('Control+k'); await it.waitForSelector('.pal'); await it.keyboard.type('heat'); await press('Enter'); await it.waitForSelector('main.heat canvas');
  await until(async () => { await press('Tab'); return it.evaluate(() => document.activeElement.tagName === 'CANVAS'); }, 'the grid by Tab');
  await it.waitForSelector('.side .kv');
  const at = await it.textContent('.side .kv'); await press('Shift+ArrowLeft'); await press('ArrowUp');
  assert.notEqual(await it.textContent('.side .kv'), at);
  await press('Enter'); await it.waitForSelector('h2:text-is("Pinned")'); await press(']'); await press('z');
  await it.evaluate(() => document.activeElement.blur()); await press('g'); await press('d'); await it.waitForSelector('.vrow[data-i="0"]');
  await until(async () => { await press('Tab'); return it.evaluate(() => document.activeElement.matches('.vrow')); }, 'a row by Tab');
  await press('ArrowDown'); await press('Enter'); await it.waitForSelector('.side .editor textarea');
  await until(async () => { await press('Tab'); return it.evaluate(() => document.activeElement.matches('.side textarea')); }, 'the editor by Tab');
  await press('Control+Home'); await press('ArrowRight'); await it.keyboard.type('"typed": 1,'); await press('Control+s'); await it.waitForSelector('.toast:has-text("Saved in shop/orders")');
  await it.evaluate(() => document.activeElement.blur()); await press('?'); await it.waitForSelector('.help'); await press('Escape');
  await press('p'); await it.waitForSelector('#live:has-text("Paused")'); await press('p'); await it.waitForSelector('#live:has-text("Live")');
  it.clean(); await it.context().close();
});

test('the split line is dragged, a relocation is held and released, two ranges merge', async () => {
  const it = await page({ room: '#/shop/other/map' });
  await it.click('button:has-text("Split…")');
  let handle = null; // the figure is drawn anew each second
  await until(async () => { handle = await it.evaluate(() => { const b = document.querySelector('.handle .grab')?.getBoundingClientRect(); return b && { x: b.x, y: b.y }; }); return handle; }, 'the split line');
  await it.mouse.move(handle.x + 9, handle.y + 40); await it.mouse.down(); await it.mouse.move(handle.x + 60, handle.y + 40, { steps: 5 }); await it.mouse.up();
  const told = await it.getAttribute('.handle', 'aria-valuetext');
  assert.doesNotMatch(told, /^2000/, 'the line has moved');
  await it.click('header:has(h2:text-is("What is moving?")) button:text-is("Hold")'); await it.waitForSelector('.toast:has-text("stop before cut-over")');
  await it.click('.acts .btn:has-text("Split")');
  await it.waitForSelector('.stepper .at'); await until(async () => /cut-over|fence/.test(await it.textContent('.stepper .at')), 'the step before which it is held');
  await shot(it, 'map-held');
  await it.click('header:has(h2:text-is("What is moving?")) button:text-is("Release")');
  await until(async () => (await ranges('other')).length === 2, 'two ranges');
  await until(async () => (await it.locator('.strip .cell').count()) === 2, 'two cells');
  await it.click('button:has-text("Merge with")'); await it.click('.acts .btn:text-is("Merge")');
  await until(async () => (await ranges('other')).length === 1, 'one range again');
  await until(async () => (await it.locator('.strip .cell').count()) === 1, 'one cell again');
  it.clean(); await it.context().close();
});

test('the cost picture adds up to what the header of the same query says', async () => {
  const it = await page({ room: '#/shop/orders/query' }), text = "SELECT * FROM c WHERE c.city = 'Bern'";
  await it.fill('.src', text); await it.click('button:has-text("Run")'); await it.waitForSelector('.total b');
  const parts = (await it.locator('.term:not(.total) b').allTextContents()).map((t) => Math.round(Number(t.replace(/,/g, '')) * 100)), total = Math.round(parseFloat((await it.textContent('.total b')).replace(/,/g, '')) * 100);
  assert.equal(parts.reduce((a, b) => a + b, 0), total);
  assert.match(await it.textContent('.total'), /adds up exactly/);
  let charged = 0, continuation = null;
  do { const answer = await wire('POST', 'dbs/shop/colls/orders/docs', { query: text, parameters: [] }, { 'content-type': 'application/query+json', 'x-ms-documentdb-isquery': 'True', 'x-ms-documentdb-query-enablecrosspartition': 'True', 'x-orrery-merge': 'true', 'x-ms-max-item-count': '200', ...(continuation ? { 'x-ms-continuation': continuation } : {}) }); charged += Math.round(Number(answer.headers.get('x-ms-request-charge')) * 100); continuation = answer.headers.get('x-ms-continuation'); } while (continuation);
  assert.equal(total, charged);
  await picture(it, 'query'); it.clean(); await it.context().close();
});

test('throttling shows on Live, on Map and in words', async () => {
  const before = busy.refused();
  await until(() => busy.refused() > before + 5, 'refused requests');
  const it = await page({ room: '#/shop/small/live', expected: [/429/] });
  await it.waitForSelector('.hot:has-text("hot")');
  await it.click('button:text-is("requests")'); await it.waitForSelector('.tailbox .hotrow');
  await shot(it, 'live-throttled');
  await it.go('#/shop/small/map'); await it.waitForSelector('.strip .refused'); await shot(it, 'map-throttled');
  await it.go('#/shop/small/heat'); await it.waitForSelector('.diagnosis b'); assert.match(await it.textContent('.diagnosis'), /hot/); await shot(it, 'heat-throttled');
  await it.go('#/'); await it.waitForSelector('.advice .lv2');
  it.clean(); await it.context().close();
});

test('changes arrive on Live with what they were before', async () => {
  const it = await page({ room: '#/shop/orders/live', expected: [/429/] });
  await it.waitForSelector('.tailbox'); await it.waitForTimeout(1500);
  await item('shop', 'orders', { id: 'fresh', customer: 'c-1', total: 1 }, ['c-1']); await it.waitForSelector('.tailbox td:has-text("fresh")');
  await item('shop', 'orders', { id: 'fresh', customer: 'c-1', total: 2 }, ['c-1']); await it.waitForSelector('.tailbox ins:has-text("2")');
  await it.click('button:text-is("Add fault")'); await it.click('dialog button:text-is("Add")'); await it.waitForSelector('.lab-list:has-text("429")');
  await manage('DELETE', 'faults');
  it.clean(); await it.context().close();
});

test('an hour of load shows on Heat with its cause', { skip: !pictures && 'only for the pictures of the README' }, async () => {
  await busy.stop();
  await container('shop', 'busy', '/customer', 20000);
  const query = (where) => wire('POST', 'dbs/shop/colls/busy/docs', { query: 'SELECT * FROM c', parameters: [] }, { 'content-type': 'application/query+json', 'x-ms-documentdb-isquery': 'True', 'x-ms-max-item-count': '1000', ...where }), keyed = (k) => query({ 'x-ms-documentdb-partitionkey': JSON.stringify([k]) });
  for (let i = 0; i < 160; i += 1) await item('shop', 'busy', { id: `b-${i}`, customer: `c-${1000 + i * 7}`, total: i, note: 'z'.repeat(300) }, [`c-${1000 + i * 7}`]);
  for (let i = 0; i < 40; i += 1) await item('shop', 'busy', { id: `h-${i}`, customer: 'c-1731', total: i, note: 'z'.repeat(9000) }, ['c-1731']);
  const rid = (await wire('GET', 'dbs/shop/colls/busy')).json._rid, offer = (await wire('GET', 'offers')).json.Offers.find((o) => o.offerResourceId === rid);
  assert.equal((await wire('PUT', `offers/${offer.id}`, { ...offer, content: { offerThroughput: 1000 } })).status, 200);
  await manage('POST', 'enforcement', { mode: 'warn' });
  const all = await ranges('busy'), whole = (await manage('GET', 'dbs/shop/colls/busy/logical?top=200')).rows;
  for (let minute = 0; minute < 58; minute += 1) {
    const some = whole.filter((r, i) => (i * 7 + minute * 3) % 11 < 3 + r.place * 4).flatMap((r) => Array(r.place > .25 && r.place < .5 ? 4 + Math.floor(minute / 12) : 2).fill(r));
    await Promise.all(some.map((r) => query({ 'x-ms-documentdb-partitionkey': JSON.stringify(r.partitionKey) })));
    if (minute > 24) await Promise.all(Array.from({ length: minute > 44 ? 20 : 40 }, () => keyed('c-1731')));
    if (minute === 33) await manage('POST', `dbs/shop/colls/busy/ranges/${all[2].id}/split`, { wait: true });
    if (minute === 46) for (let i = 0; i < 6; i += 1) await query({ 'x-ms-documentdb-query-enablecrosspartition': 'True', 'x-orrery-merge': 'true' });
    await manage('POST', 'clock', { advanceSeconds: 60 });
  }
  await Promise.all(Array.from({ length: 40 }, () => keyed('c-1731')));
  const it = await page({ theme: 'dark', room: '#/shop/busy/heat?span=1%20h', expected: [/429/] });
  await it.waitForSelector('.cross'); await it.waitForTimeout(6000);
  await it.click('button:text-is("Show it")').catch(() => {});
  await it.waitForTimeout(500); await manage('POST', 'enforcement', { mode: 'on' });
  await picture(it, 'heat'); await shot(it, 'heat-hour'); await it.context().close();
});
