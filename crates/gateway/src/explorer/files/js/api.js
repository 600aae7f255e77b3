// Every call of the page to its server: the session cookie counts only with our header, so another origin cannot use it.
import { parse, plain } from './json.js';

// the page is served under /_explorer/, whatever stands before that
const BASE = new URL('../', document.baseURI).pathname;
export const endpoint = `${location.origin}${BASE}`;
let lost = () => {};
/** Called when the session has ended. */
export const onSignedOut = (fn) => { lost = fn; };

export class ApiError extends Error {
  constructor(method, path, answer) {
    let message = answer.text;
    try { message = JSON.parse(answer.text).message || answer.text; } catch { /* not JSON */ }
    super(message.split('\r\nActivityId')[0].split('\nActivityId')[0] || `status ${answer.status}`);
    Object.assign(this, { method, path, status: answer.status, sub: answer.headers?.get('x-ms-substatus'), activity: answer.headers?.get('x-ms-activity-id'), answer });
  }
}

/** One request; resolves for every status. `text` is kept as it came. */
export async function send(method, path, { body, headers = {}, signal } = {}) {
  const options = { method, headers: { 'x-orrery-explorer': '1', ...headers }, signal, cache: 'no-store', credentials: 'same-origin', redirect: 'error' };
  if (body !== undefined) options.body = typeof body === 'string' ? body : JSON.stringify(body);
  const begin = performance.now();
  let response;
  try { response = await fetch(BASE + path, options); } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(method, path, { status: 0, text: 'The server does not answer.' });
  }
  const text = await response.text();
  if (response.status === 401) lost();
  return { status: response.status, ok: response.ok, headers: response.headers, text, ms: performance.now() - begin, method, path };
}
/** As `send`, and a failure throws. */
export async function call(method, path, options) {
  const answer = await send(method, path, options);
  if (!answer.ok && answer.status !== 304) throw new ApiError(method, path, answer);
  return answer;
}
/** A management call: facts as plain objects, partition keys exact. */
export async function manage(method, path, body, options = {}) {
  const headers = body === undefined ? {} : { 'content-type': 'application/json' };
  const answer = await call(method, `_orrery/${path}`, { body, headers, ...options });
  return answer.text ? plain(parse(answer.text)) : null;
}
export const enc = encodeURIComponent;
export const collPath = (db, coll) => `dbs/${enc(db)}/colls/${enc(coll)}`;
export const charge = (answer) => Number(answer.headers.get('x-ms-request-charge') || 0);

/** All pages of a feed of resources: databases, containers, scripts, offers. */
export async function feed(path, name) {
  const all = []; let continuation = null;
  do {
    const answer = await call('GET', path, { headers: continuation ? { 'x-ms-continuation': continuation } : {} });
    all.push(...plain(parse(answer.text))[name]);
    continuation = answer.headers.get('x-ms-continuation');
  } while (continuation);
  return all;
}

/** Reads server-sent events by fetch, because an EventSource cannot send our header. Ends with the signal or the server. */
export async function events(path, signal, take) {
  const response = await fetch(BASE + path, { headers: { 'x-orrery-explorer': '1' }, signal, cache: 'no-store', credentials: 'same-origin' });
  if (response.status === 401) lost();
  if (!response.ok) throw new ApiError('GET', path, { status: response.status, text: await response.text(), headers: response.headers });
  take('open', null);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
      const lines = rest.slice(0, end).split('\n');
      rest = rest.slice(end + 2);
      const name = lines.find((l) => l.startsWith('event: '))?.slice(7), text = lines.filter((l) => l.startsWith('data: ')).map((l) => l.slice(6)).join('\n');
      if (name && text) take(name, plain(parse(text)));
    }
  }
}

/** An argument for a shell. */
export const quote = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
export const session = {
  get: async () => JSON.parse((await call('GET', '_explorer/session')).text),
  begin: async (key) => {
    const answer = await send('POST', '_explorer/session', { body: key === undefined ? {} : { key }, headers: { 'content-type': 'application/json' } });
    if (!answer.ok) throw new ApiError('POST', '_explorer/session', answer);
    return JSON.parse(answer.text);
  },
  end: () => send('DELETE', '_explorer/session'),
};
