// Items over the wire protocol. Every call names the container object that its screen was built for, and its resource id: if
// another container has the name meanwhile, the server refuses with 400/1024.
import { send, charge, collPath, enc, ApiError } from './api.js';
import { parse, pieces, headerKey } from './json.js';

const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });
// Limit: how often a refused write of a long job is tried again.
const TRIES_MAX = 20;

export const itemsPath = (c) => `${collPath(c.db, c.name)}/docs`;
export const itemPath = (c, id) => `${itemsPath(c)}/${enc(id)}`;
const pinned = (c, headers) => ({ 'x-ms-version': '2020-07-15', ...(c.rid ? { 'x-ms-cosmos-intended-collection-rid': c.rid } : {}), ...headers });
export const keyHeader = (key) => (key === undefined ? {} : { 'x-ms-documentdb-partitionkey': headerKey(key) });

/** Waits as long as the server says when a budget is used up, and tries again. */
export async function patient(run, signal) {
  for (let i = 0; ; i += 1) {
    const answer = await run();
    if (answer.status !== 429 || i >= TRIES_MAX) return answer;
    await pause(Number(answer.headers.get('x-ms-retry-after-ms') || 100));
    if (signal?.aborted) throw new DOMException('stopped', 'AbortError');
  }
}
export const BATCH_HEADERS = { 'x-ms-cosmos-is-batch-request': 'True', 'x-ms-cosmos-batch-atomic': 'True', 'x-ms-cosmos-batch-ordered': 'True' };
const throwing = (answer) => { if (!answer.ok && answer.status !== 304) throw new ApiError(answer.method, answer.path, answer); return answer; };

export const createItem = async (c, text, key, { upsert = false, signal } = {}) => throwing(await patient(() => send('POST', itemsPath(c), { body: text, signal, headers: pinned(c, { 'content-type': 'application/json', ...(upsert ? { 'x-ms-documentdb-is-upsert': 'True' } : {}), ...keyHeader(key) }) }), signal));
export const readItem = async (c, id, key, { signal } = {}) => throwing(await send('GET', itemPath(c, id), { signal, headers: pinned(c, keyHeader(key)) }));
export const replaceItem = (c, id, text, key, etag) => send('PUT', itemPath(c, id), { body: text, headers: pinned(c, { 'content-type': 'application/json', ...(etag ? { 'if-match': etag } : {}), ...keyHeader(key) }) });
export const deleteItem = (c, id, key, etag, signal) => patient(() => send('DELETE', itemPath(c, id), { signal, headers: pinned(c, { ...(etag ? { 'if-match': etag } : {}), ...keyHeader(key) }) }), signal);
export const patchItem = (c, id, key, body, etag, signal) => patient(() => send('PATCH', itemPath(c, id), { body, signal, headers: pinned(c, { 'content-type': 'application/json', ...(etag ? { 'if-match': etag } : {}), ...keyHeader(key) }) }), signal);

/** Items of one key in one transaction. */
export async function writeBatch(c, key, items) {
  const body = JSON.stringify(items.map((item) => ({ operationType: 'Upsert', resourceBody: item })));
  const answer = throwing(await patient(() => send('POST', itemsPath(c), { body, headers: pinned(c, { 'content-type': 'application/json', ...BATCH_HEADERS, ...keyHeader(key) }) })));
  if (answer.status === 207) throw new Error(`A batch was refused: ${answer.text.slice(0, 200)}`);
  return answer;
}
export const queryHeaders = (extra = {}) => ({ 'content-type': 'application/query+json', 'x-ms-documentdb-isquery': 'True', 'x-ms-documentdb-query-enablecrosspartition': 'True', 'x-orrery-merge': 'true', ...extra });
/** One page of a query over all ranges, merged by the server: rows parsed and as text. */
export async function queryPage(c, query, { parameters = [], continuation, size = 100, signal, key, headers = {} } = {}) {
  const body = `{"query":${JSON.stringify(query)},"parameters":[${parameters.map((p) => `{"name":${JSON.stringify(p.name)},"value":${p.text}}`).join(',')}]}`;
  const answer = throwing(await patient(() => send('POST', itemsPath(c), { body, signal, headers: pinned(c, queryHeaders({ 'x-ms-max-item-count': String(size), ...(continuation ? { 'x-ms-continuation': continuation } : {}), ...keyHeader(key), ...headers })) }), signal));
  return page(answer);
}
function page(answer) {
  const rows = parse(answer.text).get('Documents') || [];
  return { rows, texts: pieces(rows, answer.text), continuation: answer.headers.get('x-ms-continuation'), charge: charge(answer), ms: answer.ms, answer };
}
