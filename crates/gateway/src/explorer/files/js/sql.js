// A highlighter for the query language and for JSON: text in, text nodes in spans out.
import { h } from './dom.js';
export const WORDS = 'SELECT VALUE TOP DISTINCT FROM IN WHERE AND OR NOT ORDER BY ASC DESC GROUP OFFSET LIMIT JOIN EXISTS BETWEEN LIKE ESCAPE null true false undefined AS ARRAY RANK'.split(' ');
const WORD = new RegExp(`^(${WORDS.join('|')})$`, 'i');
const TOKEN = /(--[^\n]*)|('(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?)|(@\w+)|(\b\d+(?:\.\d+)?\b)|(\b[A-Za-z_]\w*)(?=\s*\()|(\b[A-Za-z_]\w*\b)/g;
const JSON_TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\b(true|false|null)\b/g;
// Limit: characters that are coloured; what is longer stays plain, so that typing stays quick.
const PAINTED_MAX = 60000;

export function paint(text) {
  if (text.length > PAINTED_MAX) return [text, '\n'];
  const out = []; let end = 0;
  for (const m of text.matchAll(TOKEN)) {
    if (m.index > end) out.push(text.slice(end, m.index));
    const kind = m[1] ? 'rem' : m[2] ? 'str' : m[3] ? 'par' : m[4] ? 'num' : WORD.test(m[0]) ? 'word' : m[5] ? 'fn' : '';
    out.push(kind ? h('span', { class: `k-${kind}` }, m[0]) : m[0]);
    end = m.index + m[0].length;
  }
  out.push(text.slice(end), '\n');
  return out;
}
export function paintJson(text) {
  if (text.length > PAINTED_MAX) return [text];
  const out = []; let end = 0;
  for (const m of text.matchAll(JSON_TOKEN)) {
    out.push(text.slice(end, m.index), h('span', { class: m[2] ? 'k-fn' : m[1] ? 'k-str' : m[3] ? 'k-num' : 'k-word' }, m[1] || m[0]), m[2] || '');
    end = m.index + m[0].length;
  }
  out.push(text.slice(end));
  return out;
}
/** Names of parameters in the order of their first use. */
export const parametersOf = (text) => [...new Set([...text.matchAll(TOKEN)].filter((m) => m[3]).map((m) => m[3]))];
