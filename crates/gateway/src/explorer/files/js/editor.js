// A text area over its own coloured copy: what is typed is the browser's, what is seen is ours.
import { h } from './dom.js';

/** `paint` turns text into nodes. The copy grows with the text, and the area with it. */
export function editor({ label, value = '', paint, oninput = () => {}, rows = 4, filter = false, readonly = false }) {
  const ink = h('pre', { class: 'ink', 'aria-hidden': 'true' }), area = h('textarea', { class: 'src', 'data-filter': filter, spellcheck: false, 'aria-label': label, rows, readonly, autocapitalize: 'off', autocomplete: 'off' });
  const draw = () => ink.replaceChildren(...paint(`${area.value}\n`));
  area.value = value;
  area.addEventListener('input', () => { draw(); oninput(area.value); });
  draw();
  const el = h('div', { class: 'editor' }, ink, area);
  return { el, area, get value() { return area.value; }, set value(text) { area.value = text; draw(); }, draw };
}
