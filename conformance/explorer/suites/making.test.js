// What the page makes: a container from pasted items, items from files, scripts that run, settings, an index from advice.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { accessibility, close, container, item, page, shot, until, wire } from '../support.js';

before(async () => {
  await container('made', 'indexed', '/customer', 1000, { indexingPolicy: { indexingMode: 'consistent', includedPaths: [{ path: '/customer/?' }], excludedPaths: [{ path: '/*' }] } });
  for (let i = 0; i < 30; i += 1) await item('made', 'indexed', { id: `i-${i}`, customer: `c-${i % 3}`, city: i % 10 ? 'Oslo' : 'Bern' }, [`c-${i % 3}`]);
});
after(close);

test('a container is made from pasted items, with the key preview of the server', async () => {
  const it = await page({ expected: [/409/] });
  await it.click('button:text-is("Create container")'); await it.waitForSelector('.makebox');
  await it.fill('.makebox .src', Array.from({ length: 12 }, (_, i) => `{"id":"a-${i}","tenant":"t-${i % 4}","ok":${i % 2 === 0},"at":"2026-01-0${i % 9 + 1}"}`).join('\n'));
  await it.click('.props button[data-path="/ok"]'); await it.waitForSelector('.verdict:has-text("Never a key")');
  await it.click('.props button[data-path="/tenant"]'); await it.waitForSelector('.makebox .pin >> nth=3');
  assert.match(await it.textContent('.props [aria-checked="true"] .hash'), /^[0-9A-F]{8}/);
  await shot(it, 'create'); await accessibility(it, 'create');
  await it.fill('.makebox label:has-text("database") input', 'made'); await it.fill('.makebox label:has-text("container") input', 'pasted');
  await it.click('.makebox button:text-is("Create")'); await it.waitForSelector('h1:has-text("pasted")');
  assert.deepEqual((await wire('GET', 'dbs/made/colls/pasted')).json.partitionKey.paths, ['/tenant']);
  it.clean(); await it.context().close();
});

test('files of JSON Lines and CSV are written as they are, with a report', async () => {
  await container('made', 'files', '/tenant', 4000);
  const it = await page({ room: '#/made/files/data', expected: [/409/] });
  await it.click('text=Upload…'); await it.setInputFiles('input[type=file]', { name: 'a.jsonl', mimeType: 'application/json', buffer: Buffer.from('{"id":"1","tenant":"a","n":9007199254740993}\n{"id":"2","tenant":"b"}\n') });
  await it.waitForSelector('.preview:has-text("2 items")'); await it.click('dialog button:text-is("Write")'); await it.waitForSelector('.preview:has-text("Wrote 2 of 2")');
  await it.setInputFiles('input[type=file]', { name: 'b.csv', mimeType: 'text/csv', buffer: Buffer.from('id,tenant,n,text\n1,a,1,"x, ""y"""\n3,a,2.50,z\n') });
  await it.waitForSelector('.preview:has-text("2 items in b.csv")'); await shot(it, 'upload');
  await it.click('dialog button:text-is("Write")'); await it.waitForSelector('.preview:has-text("Wrote 1 of 2")'); assert.match(await it.textContent('.preview'), /1 exist already/);
  assert.match((await wire('GET', 'dbs/made/colls/files/docs/1', undefined, { 'x-ms-documentdb-partitionkey': '["a"]' })).text, /9007199254740993/);
  assert.match((await wire('GET', 'dbs/made/colls/files/docs/3', undefined, { 'x-ms-documentdb-partitionkey': '["a"]' })).text, /"n":2\.50?/);
  it.clean(); await it.context().close();
});

test('a procedure is written, runs with its log, and fails with its log', async () => {
  await container('made', 'scripted', '/tenant', 1000);
  const it = await page({ room: '#/made/scripted/data?part=scripts', expected: [/400/] });
  await it.click('button:text-is("New")'); await it.fill('[aria-label="Name of the script"]', 'hello'); await it.click('button:text-is("Save")'); await it.waitForSelector('.runner');
  await it.fill('[aria-label="Partition key as JSON"]', '["a"]'); await it.fill('[aria-label="Arguments as JSON"]', '["Ada"]'); await it.click('.runner button:text-is("Run")');
  await it.waitForSelector('[aria-label="Log"]:has-text("for Ada")'); assert.match(await it.textContent('[aria-label="Result"]'), /"hello": "Ada"/); await shot(it, 'script'); await accessibility(it, 'scripts');
  await it.fill('[aria-label="Body of the script"]', 'function f() { console.log("before"); throw new Error("no <b>way</b>"); }'); await it.click('button:text-is("Save")'); await it.waitForSelector('.toast:has-text("Saved hello")');
  await it.click('.runner button:text-is("Run")'); await it.waitForSelector('text=nothing of it was kept'); assert.match(await it.textContent('[aria-label="Result"]'), /no <b>way<\/b>/);
  it.clean(); await it.context().close();
});

test('settings and throughput change under their ETag', async () => {
  await container('made', 'set', '/tenant', 400);
  const it = await page({ room: '#/made/set/data?part=settings' });
  await it.waitForSelector('select[aria-label="Expiry"]'); await it.selectOption('select[aria-label="Expiry"]', '3600'); await it.click('button:text-is("Save")'); await it.waitForSelector('.toast:has-text("Saved the settings")');
  assert.equal((await wire('GET', 'dbs/made/colls/set')).json.defaultTtl, 3600);
  await it.fill('input[aria-label="RU/s"]', '900'); await it.click('button:text-is("Change")'); await it.waitForSelector('.toast:has-text("900 RU/s")'); await it.waitForSelector('.facts:has-text("900")');
  await accessibility(it, 'settings'); it.clean(); await it.context().close();
});

test('an index that would help is added by a button, and the query gets cheaper', async () => {
  const it = await page({ room: '#/made/indexed/query' });
  await it.fill('.src', "SELECT c.id FROM c WHERE c.city = 'Bern'"); await it.click('button:has-text("Run")'); await it.waitForSelector('.why');
  await it.click('.why button:has-text("Add")'); await it.waitForSelector('.better');
  await until(async () => { if ((await it.textContent('.why')).includes('used /city/?')) return true; await it.click('button:has-text("Run")'); return false; }, 'the index in use'); await shot(it, 'index-added');
  it.clean(); await it.context().close();
});
