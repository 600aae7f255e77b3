// Every action as a line for the shell: the command line where it has the command, curl always.
import { h, copy, shown } from './dom.js';
import { quote, endpoint } from './api.js';

const insecure = () => (location.protocol === 'https:' ? ' --insecure' : '');
const data = (body) => (body === undefined ? '' : ` --data ${quote(typeof body === 'string' ? body : JSON.stringify(body))}`);
const heads = (headers) => Object.entries(headers).map(([k, v]) => ` --header ${quote(`${k}: ${v}`)}`).join('');

/** A management call. The key is a variable: no page should print it. */
export const curlManage = (method, path, body) => `curl --silent${insecure()}${method === 'GET' ? '' : ` --request ${method}`} --header "Authorization: Bearer $ORRERY_KEY"${data(body)} ${quote(`${endpoint}_orrery/${path}`)}`;

/** What is signed of a path: the kind of resource and its link. */
function signed(path) {
  const parts = path.split('?')[0].split('/').filter(Boolean).map(decodeURIComponent), odd = parts.length % 2;
  if (parts[0] === 'offers') return ['offers', (parts[1] || '').toLowerCase()];
  return [parts[odd ? parts.length - 1 : parts.length - 2] || '', parts.slice(0, odd ? -1 : undefined).join('/')];
}
/** A call of the wire protocol, which wants a signature; openssl makes it. */
export function curlWire(method, path, body, headers = {}) {
  const [kind, link] = signed(path);
  return [
    'date=$(LC_ALL=C date -u "+%a, %d %b %Y %H:%M:%S GMT")',
    `sig=$(printf '%s\\n%s\\n%s\\n%s\\n\\n' ${method.toLowerCase()} ${kind} ${quote(link)} "$(echo "$date" | tr A-Z a-z)" | openssl dgst -sha256 -mac HMAC -macopt hexkey:$(echo "$ORRERY_KEY" | base64 -d | od -An -v -tx1 | tr -d ' \\n') -binary | base64 | sed 's/+/%2B/g;s/\\//%2F/g;s/=/%3D/g')`,
    `curl --silent${insecure()} --request ${method} --header "x-ms-date: $date" --header "authorization: type%3Dmaster%26ver%3D1.0%26sig%3D$sig" --header 'x-ms-version: 2020-07-15'${heads(headers)}${data(body)} ${quote(endpoint + path)}`,
  ].join('\n');
}
export const cli = (...words) => `orrery ${words.map((w) => quote(String(w))).join(' ')}`;

/** A signed call is three long lines: what it asks for is enough to read, and copying gives all. */
const brief = (curl) => (curl.includes('\n') ? `curl --request ${/--request (\w+)/.exec(curl)[1]} … ${curl.split(' ').at(-1)}` : curl);

/** The command line and curl form of an action, with buttons that copy them. */
export const asCode = (line, curl) => h('div', { class: 'ascode' }, h('code', {}, shown(line || brief(curl), 300)),
  line && h('button', { type: 'button', class: 'btn tiny', onclick: () => copy(line, 'the command line'), 'aria-label': 'Copy the command line' }, 'copy'),
  h('button', { type: 'button', class: 'btn tiny', onclick: () => copy(curl, 'the curl line'), 'aria-label': 'Copy as curl' }, 'curl'));
