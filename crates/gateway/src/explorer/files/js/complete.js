// Completion in the query editor: paths that the index knows, functions, words, parameters. A list under the line.
import { h, shown } from './dom.js';
import { WORDS } from './sql.js';

const FUNCTIONS = 'ABS ARRAY_AVG ARRAY_CONCAT ARRAY_CONTAINS ARRAY_CONTAINS_ALL ARRAY_CONTAINS_ANY ARRAY_LENGTH ARRAY_MAX ARRAY_MEDIAN ARRAY_MIN ARRAY_SLICE ARRAY_SUM AVG CEILING CHOOSE CONCAT CONTAINS COUNT DateTimeAdd DateTimeBin DateTimeDiff DateTimePart DOCUMENTID ENDSWITH EXP FLOOR FullTextContains FullTextContainsAll FullTextContainsAny FullTextScore GetCurrentDateTime GetCurrentTimestamp IIF INDEX_OF IS_ARRAY IS_BOOL IS_DEFINED IS_INTEGER IS_NULL IS_NUMBER IS_OBJECT IS_STRING LEFT LENGTH LOG LOWER LTRIM MAX MIN ObjectToArray PI POWER RAND RegexMatch REPLACE REPLICATE REVERSE RIGHT ROUND RRF RTRIM SetIntersect SetUnion SIGN SQRT STARTSWITH ST_DISTANCE ST_INTERSECTS ST_WITHIN StringEquals StringJoin StringSplit StringToArray StringToNumber SUBSTRING SUM ToString TRIM TRUNC UPPER VectorDistance'.split(' ');
// Limit: suggestions at once.
const SHOWN_MAX = 8;

/** `paths()` gives what the index knows, as [{path, kinds}]. */
export function completion(edit, paths, parameters) {
  const { area } = edit, list = h('ul', { class: 'complete', role: 'listbox', id: 'complete', hidden: true, 'aria-label': 'Suggestions' });
  let found = [], at = 0, from = 0;
  area.setAttribute('role', 'combobox'); area.setAttribute('aria-autocomplete', 'list'); area.setAttribute('aria-controls', 'complete'); area.setAttribute('aria-expanded', 'false'); area.setAttribute('aria-haspopup', 'listbox');
  edit.el.append(list);
  const close = () => { list.hidden = true; found = []; area.setAttribute('aria-expanded', 'false'); area.removeAttribute('aria-activedescendant'); };
  const alias = () => /\bFROM\s+([A-Za-z_]\w*)(?:\s+(?:AS\s+)?(?!WHERE|JOIN|ORDER|GROUP|OFFSET|IN\b)([A-Za-z_]\w*))?/i.exec(area.value)?.slice(1).filter(Boolean).at(-1) || 'c';
  function suggest(asked) {
    const before = area.value.slice(0, area.selectionStart), m = /[@\w.[\]"]*$/.exec(before), typed = m[0];
    from = before.length - typed.length;
    if (!asked && typed.length < 2 && !typed.endsWith('.')) return [];
    const a = alias(), low = typed.toLowerCase();
    const all = [
      ...paths().map((p) => ({ text: a + p.path.replace(/\/[?*]$/, '').split('/').slice(1).map((n) => (n === '[]' ? '[0]' : /^[A-Za-z_]\w*$/.test(n) ? `.${n}` : `[${JSON.stringify(n.replace(/^"(.*)"$/s, '$1'))}]`)).join(''), hint: (p.kinds || []).join(', ') })),
      ...parameters().map((p) => ({ text: p, hint: 'parameter' })),
      ...(typed.includes('.') ? [] : [...WORDS.map((w) => ({ text: w, hint: 'word' })), ...FUNCTIONS.map((f) => ({ text: `${f}(`, hint: 'function' }))]),
    ];
    return all.filter((x) => x.text.toLowerCase().startsWith(low) && x.text.toLowerCase() !== low).slice(0, SHOWN_MAX);
  }
  function draw() {
    list.hidden = !found.length;
    area.setAttribute('aria-expanded', String(Boolean(found.length)));
    if (found.length) area.setAttribute('aria-activedescendant', `complete-${at}`); else area.removeAttribute('aria-activedescendant');
    list.replaceChildren(...found.map((x, i) => h('li', { role: 'option', id: `complete-${i}`, 'aria-selected': String(i === at), onpointerdown: (e) => { e.preventDefault(); take(x); } }, h('span', { class: 'code' }, shown(x.text, 60)), h('span', { class: 'dim' }, shown(x.hint, 30)))));
    if (!found.length) return;
    // below the caret's line; the copy has the same lines
    const lines = area.value.slice(0, area.selectionStart).split('\n'), height = parseFloat(getComputedStyle(area).lineHeight) || 20;
    list.style.top = `${9 + lines.length * height}px`;
    list.style.left = `${Math.min(12 + lines.at(-1).length * 7.6, Math.max(12, area.clientWidth - 260))}px`;
  }
  function take(x) {
    area.setRangeText(x.text, from, area.selectionStart, 'end');
    area.dispatchEvent(new Event('input'));
    close(); area.focus();
  }
  const update = (asked = false) => { found = suggest(asked); at = 0; draw(); };
  area.addEventListener('input', () => update());
  area.addEventListener('blur', close);
  area.addEventListener('click', close);
  area.addEventListener('keydown', (e) => {
    if (e.ctrlKey && e.key === ' ') { e.preventDefault(); update(true); return; }
    if (list.hidden) return;
    if (e.key === 'ArrowDown' || e.key === 'ArrowUp') { e.preventDefault(); at = (at + (e.key === 'ArrowDown' ? 1 : found.length - 1)) % found.length; draw(); } else if ((e.key === 'Enter' && !e.ctrlKey && !e.shiftKey) || e.key === 'Tab') { e.preventDefault(); take(found[at]); } else if (e.key === 'Escape') { e.preventDefault(); e.stopPropagation(); close(); }
  });
}
