// JSON that keeps what was sent. Numbers stay text, because a double would turn 9007199254740993 into another number; elements
// and members know their own pieces of the text, so that an item is shown and sent back as it came.

/** A number as it was written. */
export class Num {
  constructor(text) { this.text = text; }
  toString() { return this.text; }
  valueOf() { return Number(this.text); }
}
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const SPACE = /[ \t\r\n]*/y;
// Limit: nesting that is shown; the server's own limit is lower.
const DEPTH_MAX = 400;

export class JsonError extends Error {
  constructor(text, at) {
    const lines = text.slice(0, at).split('\n');
    super(`Not JSON at line ${lines.length}, column ${lines.at(-1).length + 1}`);
    this.at = at;
  }
}

/** Reads one token at `at`: kind, start, end. */
function scan(text, at) {
  SPACE.lastIndex = at; SPACE.test(text);
  const start = SPACE.lastIndex, c = text[start];
  if (c === undefined) return { kind: 'end', start, end: start };
  if ('{}[],:'.includes(c)) return { kind: c, start, end: start + 1 };
  if (c === '"') {
    let i = start + 1;
    while (i < text.length && text[i] !== '"') i += text[i] === '\\' ? 2 : 1;
    if (i >= text.length) throw new JsonError(text, start);
    return { kind: 'string', start, end: i + 1 };
  }
  SCALAR.lastIndex = start;
  const m = SCALAR.exec(text);
  if (!m) throw new JsonError(text, start);
  return { kind: /[tfn]/.test(c) ? 'word' : 'number', start, end: SCALAR.lastIndex };
}

/** Objects become Maps, numbers Num; arrays have `spans`, the place of each element in the text. */
export function parse(text) {
  let token = scan(text, 0), last = 0;
  const take = () => { const was = token; last = was.end; token = scan(text, was.end); return was; };
  const want = (kind) => { if (token.kind !== kind) throw new JsonError(text, token.start); return take(); };
  const string = () => { const t = want('string'); try { return JSON.parse(text.slice(t.start, t.end)); } catch { throw new JsonError(text, t.start); } };
  const value = (depth) => {
    if (depth > DEPTH_MAX) throw new JsonError(text, token.start);
    switch (token.kind) {
      case 'string': return string();
      case 'number': { const t = take(); return new Num(text.slice(t.start, t.end)); }
      case 'word': { const t = take(), w = text.slice(t.start, t.end); return w === 'null' ? null : w === 'true'; }
      case '[': {
        const list = []; list.spans = []; take();
        while (token.kind !== ']') {
          if (list.length) want(',');
          const from = token.start;
          list.push(value(depth + 1)); list.spans.push([from, last]);
        }
        take(); return list;
      }
      case '{': {
        const map = new Map(); let first = true; map.members = []; take();
        while (token.kind !== '}') {
          if (!first) want(',');
          first = false;
          const from = token.start, name = string();
          want(':'); map.set(name, value(depth + 1)); map.members.push([name, from, last]);
        }
        take(); return map;
      }
      default: throw new JsonError(text, token.start);
    }
  };
  const result = value(0);
  want('end');
  return result;
}

/** The pieces of text of the elements of an array, for items that go back as they came. */
export const pieces = (list, text) => list.spans.map(([a, b]) => text.slice(a, b));

/** Maps and Nums to plain objects: for facts of the server, whose numbers fit. Keys of partitions stay exact. */
export function plain(value, name = '') {
  if (value instanceof Num) return Number(value.text);
  if (Array.isArray(value)) return name === 'partitionKey' || (name === 'hottest' && !value.some((v) => v instanceof Map && v.size)) ? value : value.map((v) => plain(v));
  if (value instanceof Map) return Object.fromEntries([...value].map(([k, v]) => [k, plain(v, k)]));
  return value;
}

/** The text of a parsed value again, short. */
export function write(value) {
  if (value instanceof Num) return value.text;
  if (value instanceof Map) return `{${[...value].map(([k, v]) => `${JSON.stringify(k)}:${write(v)}`).join(',')}}`;
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`;
  return JSON.stringify(value);
}

/** Indents a text without touching its numbers, its strings or the order of its names. */
export function pretty(text) {
  const out = []; let at = 0, depth = 0, before = '';
  const line = () => out.push('\n', '  '.repeat(Math.min(depth, 40)));
  for (;;) {
    const t = scan(text, at);
    if (t.kind === 'end') break;
    const body = text.slice(t.start, t.end), opens = before === '{' || before === '[';
    if (t.kind === '}' || t.kind === ']') { depth -= 1; if (!opens) line(); out.push(body); }
    else {
      if (opens) line();
      out.push(body);
      if (t.kind === '{' || t.kind === '[') depth += 1;
      if (t.kind === ',') line();
      if (t.kind === ':') out.push(' ');
    }
    before = t.kind; at = t.end;
  }
  return out.join('');
}

/** A partition key for people: plain text for a string that cannot be mistaken, JSON otherwise, `none` for a missing property. */
export function keyText(key) {
  if (!Array.isArray(key)) return key === undefined || key === null ? '–' : write(key);
  if (key.length === 0) return 'none';
  return key.map((part) => {
    if (part instanceof Map || part === undefined) return 'none';
    if (typeof part === 'string') return part === '' || /^(none|null|true|false|-?\d.*|".*|\s.*|.*\s)$/s.test(part) ? JSON.stringify(part) : part;
    return write(part);
  }).join(' / ');
}
export const sameKey = (a, b) => write(a) === write(b);
/** The value of a partition key definition in an item. */
export function keyOf(item, paths) {
  return paths.map((path) => {
    const found = path.slice(1).split('/').reduce((v, name) => (v instanceof Map ? v.get(name.replace(/^"(.*)"$/s, '$1')) : undefined), item);
    return found === undefined || found instanceof Map || Array.isArray(found) ? new Map() : found;
  });
}
/** ASCII only, as headers want it; a lone half of a character survives as its escape. */
export const headerKey = (key) => write(key).replace(/[\u007F-\uFFFF]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

export const SYSTEM = new Set(['_rid', '_self', '_etag', '_attachments', '_ts', '_lsn']);
/** An item as its writer had it: without what the server adds. */
export function own(text) {
  const item = parse(text);
  return item instanceof Map ? `{${item.members.filter(([name]) => !SYSTEM.has(name)).map(([, a, b]) => text.slice(a, b)).join(',')}}` : text;
}
