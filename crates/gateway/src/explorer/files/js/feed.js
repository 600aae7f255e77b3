// The change feed of a container, range by range: what changed, with the image before it where it is kept.
import { send, collPath, ApiError } from './api.js';
import { parse, pieces, Num } from './json.js';

// Limits: pages of one look at one range; changes of a page.
const PAGES_MAX = 5, PAGE = 100;

/** Reads on from where it was. `from` is "now", "start" or a time in milliseconds. */
export class Feed {
  constructor(c, { from, signal, mode }) { Object.assign(this, { c, from, signal, mode, at: new Map(), seen: new Map() }); }

  /** New changes of all ranges, oldest first. Ranges that came by a split go on where their parent was. */
  async poll() {
    const out = [];
    for (const r of this.c.ranges) {
      if (!this.at.has(r.id)) this.at.set(r.id, { etag: this.inherit(r) });
      out.push(...await this.range(r));
    }
    return out.sort((a, b) => a.ts - b.ts || a.lsn - b.lsn);
  }
  inherit(r) { for (const id of [...(r.parents || [])].reverse()) { const p = this.at.get(id); if (p?.etag) return p.etag; } return null; }

  headers(r, state) {
    const all = this.mode === 'all';
    const h = { 'a-im': all ? 'Full-Fidelity Feed' : 'Incremental feed', 'x-ms-version': '2020-07-15', 'x-ms-documentdb-partitionkeyrangeid': r.id, 'x-ms-max-item-count': String(PAGE), 'x-ms-cosmos-changefeed-wire-format-version': '2021-09-15', ...(this.c.rid ? { 'x-ms-cosmos-intended-collection-rid': this.c.rid } : {}) };
    if (state.etag) h['if-none-match'] = state.etag;
    else if (this.from === 'now') h['if-none-match'] = '*';
    else if (typeof this.from === 'number') h['if-modified-since'] = new Date(this.from).toUTCString();
    return h;
  }
  async range(r) {
    const state = this.at.get(r.id), out = [];
    for (let page = 0; page < PAGES_MAX; page += 1) {
      const answer = await send('GET', `${collPath(this.c.db, this.c.name)}/docs`, { headers: this.headers(r, state), signal: this.signal });
      if (answer.status === 410) { this.at.delete(r.id); return out; }
      const etag = answer.headers.get('etag');
      if (etag) state.etag = etag;
      if (answer.status === 304 || answer.status === 429) return out; // over the budget: the next look goes on from here
      if (!answer.ok) throw new ApiError('GET', 'docs', answer);
      const list = parse(answer.text).get('Documents') || [], texts = pieces(list, answer.text);
      list.forEach((d, i) => out.push(this.change(r, d, texts[i])));
      if (list.length < PAGE) return out;
    }
    return out;
  }
  /** One envelope: current and previous image, and what the server says about the change. */
  change(r, d, text) {
    const meta = d.get('metadata'), now = meta ? d.get('current') : d, item = now instanceof Map && now.size ? now : null, id = item?.get('id') ?? meta?.get('id') ?? d.get('previous')?.get?.('id') ?? '';
    const before = d.get('previous') instanceof Map ? d.get('previous') : null, last = this.seen.get(`${r.id}\n${item?.get('_self') ?? id}`);
    const lsn = Number((meta?.get('lsn') ?? item?.get('_lsn') ?? new Num('0')).toString()), op = meta?.get('operationType') ?? (item ? 'write' : 'delete'), ts = Number((meta?.get('crts') ?? item?.get('_ts') ?? new Num('0')).toString()) * 1000;
    if (item) { this.seen.set(`${r.id}\n${item.get('_self') ?? id}`, item); if (this.seen.size > 5000) this.seen.delete(this.seen.keys().next().value); }
    return { range: r.id, lsn, ts, op, id, item, before: before || last || null, kept: Boolean(before), text, meta };
  }
}
