// Generated data to begin with: a shop of three containers with one customer who orders too much.
import { toast, say } from './dom.js';
import { call } from './api.js';
import { container, reload } from './world.js';
import { writeBatch, readItem } from './wire.js';

const N_ORDERS = 2000, N_CUSTOMERS = 400, N_PRODUCTS = 120, HOT = 'c-0017';
// Limit: requests at once.
const AT_ONCE = 12;
// Limit: the protocol's own, for one transaction.
const BATCH = 100;
const CITIES = ['Bern', 'Lyon', 'Graz', 'Oslo', 'Turin', 'Ghent', 'Porto', 'Malmö'], STATES = ['open', 'paid', 'sent', 'returned'];

/** A generator of its own: the same sample each time. */
function rng(seed) { let a = seed >>> 0; return () => { a = (a + 0x6D2B79F5) | 0; let t = Math.imul(a ^ (a >>> 15), 1 | a); t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t; return ((t ^ (t >>> 14)) >>> 0) / 4294967296; }; }
const pad = (n, w) => String(n).padStart(w, '0');

function orders() {
  const g = rng(25), pick = (list) => list[Math.floor(g() * list.length)];
  return Array.from({ length: N_ORDERS }, (_, i) => {
    const customer = g() < 0.3 ? HOT : `c-${pad(Math.floor(g() ** 2 * N_CUSTOMERS), 4)}`;
    const lines = Array.from({ length: 1 + Math.floor(g() * 4) }, () => ({ sku: `P-${pad(Math.floor(g() * N_PRODUCTS), 3)}`, n: 1 + Math.floor(g() * 5) }));
    return { id: `o-${pad(i, 5)}`, customer, city: pick(CITIES), status: pick(STATES), placed: new Date(Date.UTC(2026, 0, 1) + i * 3.6e6).toISOString(), total: Math.round(900 + g() * 19000) / 100, lines, note: 'x'.repeat(Math.floor(g() * 400)) };
  });
}
const customers = () => Array.from({ length: N_CUSTOMERS }, (_, i) => ({ id: `c-${pad(i, 4)}`, name: `Customer ${i}`, city: CITIES[i % CITIES.length], since: 2010 + (i % 16) }));
const products = () => Array.from({ length: N_PRODUCTS }, (_, i) => ({ id: `P-${pad(i, 3)}`, category: ['book', 'tool', 'toy', 'lamp', 'chair'][i % 5], name: `Product ${i}`, price: 5 + (i * 37) % 190 }));

/** Runs an action for each, some at once. */
export async function each(list, run, at = AT_ONCE) {
  let i = 0;
  await Promise.all(Array.from({ length: Math.min(at, list.length) }, async () => { while (i < list.length) { const k = i; i += 1; await run(list[k], k); } }));
}
async function make(db, name, path, ru) {
  const body = { id: name, partitionKey: { paths: [path], kind: 'Hash', version: 2 } };
  await call('POST', `dbs/${db}/colls`, { body, headers: { 'content-type': 'application/json', 'x-ms-offer-throughput': String(ru) } }).catch((e) => { if (e.status !== 409) throw e; });
}

export async function loadSample(control) {
  if (control) { control.disabled = true; control.textContent = 'Loading…'; }
  try {
    await call('POST', 'dbs', { body: { id: 'shop' }, headers: { 'content-type': 'application/json' } }).catch((e) => { if (e.status !== 409) throw e; });
    await make('shop', 'orders', '/customer', 20000); await make('shop', 'customers', '/id', 1000); await make('shop', 'products', '/category', 400);
    const sets = [['orders', orders(), 'customer'], ['customers', customers(), 'id'], ['products', products(), 'category']];
    for (const [name, list, key] of sets) {
      say(`Writing ${list.length} items into shop/${name}.`);
      const groups = Map.groupBy(list, (item) => item[key]), batches = [...groups].flatMap(([k, items]) => Array.from({ length: Math.ceil(items.length / BATCH) }, (_, i) => [k, items.slice(i * BATCH, (i + 1) * BATCH)]));
      await each(batches, ([k, items]) => writeBatch({ db: 'shop', name }, [k], items));
    }
    const hot = orders().filter((o) => o.customer === HOT).slice(0, 300);
    await each(hot, (o) => readItem({ db: 'shop', name: 'orders' }, o.id, [HOT]));
    await reload();
    toast(`Loaded ${N_ORDERS + N_CUSTOMERS + N_PRODUCTS} items into shop. Its customer ${HOT} is hot.`);
    const c = container('shop', 'orders');
    if (c) location.hash = '#/shop/orders/map';
  } catch (error) {
    toast(`The sample is not whole: ${error.message}`, true);
    if (control) { control.disabled = false; control.textContent = 'Load the sample'; }
    await reload().catch(() => {});
  }
}
