// Small functions that build nodes. Text goes in as text nodes, never as markup.
const NS = 'http://www.w3.org/2000/svg';
const PROPS = new Set(['value', 'checked', 'disabled', 'selected', 'tabIndex', 'spellcheck', 'open', 'indeterminate']);

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name === 'css') for (const [k, v] of Object.entries(value)) node.style.setProperty(k, v);
    else if (PROPS.has(name)) node[name] = value;
    else node.setAttribute(name, value === true ? '' : String(value));
  }
  node.append(...children.flat(3).filter((c) => c !== null && c !== undefined && c !== false).map((c) => (c instanceof Node ? c : String(c))));
  return node;
}
export const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);
export const s = (tag, props, ...children) => fill(document.createElementNS(NS, tag), props, children);
export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

let spoken = 0, later = 0;
/** Tells assistive technology, at most once in five seconds; the last text of a burst is not lost. */
export function say(text) {
  clearTimeout(later);
  const wait = spoken ? Math.max(0, 5000 - (performance.now() - spoken)) : 0;
  later = setTimeout(() => { spoken = performance.now(); document.getElementById('say').textContent = shown(text, 300); }, wait);
}

// numbers: always with a unit, in tabular digits
export const int = (n) => Math.round(n).toLocaleString('en-US');
export const dec = (n, d = 1) => n.toLocaleString('en-US', { minimumFractionDigits: d, maximumFractionDigits: d });
export const pct = (n, d = 0) => (Number.isFinite(n) ? `${dec(n * 100, d)} %` : '–');
/** A charge with its two decimals. */
export const ru = (units) => dec(units, 2);
export function bytes(n) {
  for (const [unit, size, d] of [['TB', 1e12, 2], ['GB', 1e9, 1], ['MB', 1e6, 1], ['KB', 1e3, 1]]) if (n >= size) return `${dec(n / size, d)} ${unit}`;
  return `${int(n)} B`;
}
export const many = (n) => (n >= 1e6 ? `${dec(n / 1e6, 1)} M` : n >= 1e4 ? `${dec(n / 1e3, 1)} k` : int(n));
export const plural = (n, one, more = `${one}s`) => `${int(n)} ${n === 1 ? one : more}`;
const two = (n) => String(n).padStart(2, '0');
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
export function clock(ms, seconds = false) { const d = new Date(ms); return `${two(d.getHours())}:${two(d.getMinutes())}${seconds ? `:${two(d.getSeconds())}` : ''}`; }
export const day = (ms) => { const d = new Date(ms); return `${d.getDate()} ${MONTHS[d.getMonth()]}`; };
/** The time alone for today, with the day otherwise. */
export const when = (ms, seconds = false) => (new Date(ms).toDateString() === new Date().toDateString() ? clock(ms, seconds) : `${day(ms)} ${clock(ms)}`);
export const took = (ms) => (ms < 1000 ? `${int(ms)} ms` : ms < 120000 ? `${dec(ms / 1000)} s` : `${int(ms / 60000)} min`);

const INVISIBLE = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u061C\u200B-\u200F\u2028-\u202E\u2060-\u2069\uFEFF]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;
/** Data of others as one line: marks that turn or hide text, and halves of characters, become visible; long text is cut. */
export function shown(text, max = 160) {
  const whole = String(text), cut = whole.length > max ? whole.slice(0, max) : whole;
  const safe = cut.replace(INVISIBLE, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).replace(/[\n\t]/g, ' ');
  return whole.length > max ? `${safe}… (${int(whole.length)} characters)` : safe;
}
// words that are explained on hover and focus
export const WORDS = {
  RU: 'Request unit. The price of an operation: a point read of 1 KiB costs 1 RU.',
  'RU/s': 'Request units per second. A range refuses with 429 what goes over its part.',
  'logical partition': 'All items with the same partition key value. It lives in one range, whole. Limits: 20 GB and 10,000 RU/s.',
  range: 'A physical partition: one piece of the hash space, with its own files, its own budget and its own change feed.',
  epk: 'Effective partition key: the hash of the key value, 00 to 3F. It decides which range holds an item.',
  budget: 'The RU/s a range may use. 100 % means the next request waits or is refused.',
  debt: 'RU spent before they were earned. A range in debt refuses until it is paid.',
  LSN: 'Number of the last commit in a range. The change feed continues from it.',
  Gini: '0: all keys are equally big. 1: one key has everything.',
  'write pause': 'How long writes to the range waited while it was cut over.',
  slice: '1/256 of the hash space. Slices never move, whatever splits.',
  lineage: 'Which range came from which. Time falls: the oldest is on top, now is at the bottom.',
  ETag: 'Version of an item. A write that names an old one is refused with 412.',
  429: 'The answer to a request over the budget. It carries a time to wait.',
};
/** What one screen hands to the next. Keys never go into the address. */
export const carry = {};
let tip;
function showTip(node) {
  tip ||= document.body.appendChild(h('div', { class: 'tip', role: 'tooltip', id: 'tip' }));
  tip.textContent = node.dataset.word;
  tip.classList.add('on');
  const b = node.getBoundingClientRect(), t = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(8, Math.min(b.left, innerWidth - t.width - 8))}px`;
  tip.style.top = `${b.bottom + 6 + t.height > innerHeight ? b.top - t.height - 6 : b.bottom + 6}px`;
}
export const hideTip = () => tip?.classList.remove('on');
export function word(key, text = key) {
  return h('span', { class: 'word', tabindex: 0, role: 'note', 'data-word': WORDS[key], 'aria-label': `${text}. ${WORDS[key]}`, onpointerenter: (e) => showTip(e.currentTarget), onpointerleave: hideTip, onfocus: (e) => showTip(e.currentTarget), onblur: hideTip }, text);
}

export function toast(text, bad = false) {
  document.querySelector('.toast')?.remove();
  const box = h('div', { class: bad ? 'toast wrong' : 'toast' }, shown(text, 400));
  (document.querySelector('dialog[open]') || document.body).append(box);
  say(text);
  setTimeout(() => box.remove(), bad ? 7000 : 3600);
}
export function copy(text, what) {
  const done = () => toast(`Copied ${what}.`);
  if (navigator.clipboard) { navigator.clipboard.writeText(text).then(done, () => copyByHand(text, done)); return; }
  copyByHand(text, done);
}
/** Plain HTTP from another machine has no clipboard interface. */
function copyByHand(text, done) {
  const area = (document.querySelector('dialog[open]') || document.body).appendChild(h('textarea', { class: 'sr', 'aria-hidden': 'true', value: text }));
  area.select(); document.execCommand('copy'); area.remove(); done();
}
/** Hands a text to the browser as a file. */
export function save(name, text, type = 'application/json') {
  const link = h('a', { href: URL.createObjectURL(text instanceof Blob ? text : new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export const button = (label, onclick, { kind = '', key, disabled, title, label: name } = {}) => h('button', { type: 'button', class: `btn ${kind}`, onclick, disabled, title, 'aria-label': name }, label, key && h('kbd', {}, key));
/** A choice of a few: [value, label] pairs. Arrow keys move it, as a radio group's do. */
export function seg(label, options, value, pick) {
  const choose = (b) => {
    for (const other of b.parentNode.children) { other.setAttribute('aria-checked', String(other === b)); other.tabIndex = other === b ? 0 : -1; }
    pick(b.dataset.value);
  };
  return h('div', { class: 'seg', role: 'radiogroup', 'aria-label': label }, options.map(([v, text]) => h('button', { type: 'button', role: 'radio', 'data-value': v, 'aria-checked': String(v === value), tabIndex: v === value ? 0 : -1, onclick: (e) => choose(e.currentTarget), onkeydown: (e) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
    if (!step) return;
    e.preventDefault(); e.stopPropagation();
    const all = [...e.currentTarget.parentNode.children], to = all[(all.indexOf(e.currentTarget) + step + all.length) % all.length];
    choose(to); to.focus();
  } }, text)));
}
export const panel = (title, aside, ...body) => h('section', { class: 'panel' }, title && h('header', {}, h('h2', {}, title), aside), ...body);
export const kv = (rows) => h('dl', { class: 'kv' }, rows.filter(Boolean).map(([k, v]) => [h('dt', {}, k), h('dd', {}, v)]));
export const meter = (share, cls = '') => h('i', { class: 'meter' }, h('i', { class: cls, css: { width: `${Math.min(100, share * 100)}%` } }));

/** A dialog that is gone when it is closed, and when the screen changes. */
export function dialog(cls, label, ...body) {
  if (document.querySelector('dialog[open]')) return null;
  const back = document.activeElement, box = h('dialog', { class: cls, 'aria-label': label }, ...body);
  box.addEventListener('close', () => { box.remove(); back?.isConnected && back.focus(); });
  box.addEventListener('click', (e) => { if (e.target === box) box.close(); });
  document.body.append(box);
  box.showModal();
  return box;
}
/** Rows of a table that answer to arrow keys, Enter and clicks. */
export function rowKeys(run) {
  return { tabindex: 0, onclick: (e) => run(e), onkeydown: (e) => {
    const row = e.currentTarget, to = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling }[e.key];
    if (to && e.target === row) { e.preventDefault(); to.focus(); }
    if (e.key === 'Enter' && e.target === row) { e.preventDefault(); run(e); }
  } };
}
