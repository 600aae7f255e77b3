// The JavaScript query API: filter, map, pluck, flatten, sortBy, sortByDescending, unwind, chain, value.
//
// A pipeline reads the items of the logical partition in creation order and applies its stages to each.
// Pages end at the page size; the continuation is a place in the feed, or an offset once a stage sorts.

import { apply, own, refusal, stringify } from 'globals';

const { freeze, getPrototypeOf } = Object;
const { isArray } = Array;
const isSafeInteger = Number.isSafeInteger;
const sort = Array.prototype.sort;
const split = String.prototype.split;

const SCAN_SIZE = 100;

// Values of any type in the order of the query language.
function rank(value) {
  if (value === undefined) return 0;
  if (value === null) return 1;
  switch (typeof value) {
    case 'boolean': return 2;
    case 'number': return 3;
    case 'string': return 4;
    default: return isArray(value) ? 5 : 6;
  }
}

function compare(a, b) {
  const byType = rank(a) - rank(b);
  if (byType !== 0 || rank(a) > 4 || a === b) return byType;
  return a < b ? -1 : a > b ? 1 : 0;
}

function checkFunction(name, value) {
  if (typeof value === 'function') return value;
  throw refusal(400, `The function "${name}" requires a function as its argument.`);
}

// A stage turns rows into rows. `isSorting` stages need all of them at once.
function newFilter([predicate]) {
  checkFunction('filter', predicate);
  return { run(rows) {
    const kept = [];
    for (let i = 0; i < rows.length; i++) if (predicate(rows[i])) own(kept, kept.length, rows[i], true);
    return kept;
  } };
}

function newMap([transform]) {
  checkFunction('map', transform);
  return { run(rows) {
    const mapped = [];
    for (let i = 0; i < rows.length; i++) own(mapped, i, transform(rows[i]), true);
    return mapped;
  } };
}

function newPluck([name]) {
  if (typeof name !== 'string' || name === '') {
    throw refusal(400, 'The function "pluck" requires a non-empty property name.');
  }
  return newMap([(row) => (row === null || row === undefined ? undefined : row[name])]);
}

function newFlatten([isShallow]) {
  if (isShallow !== true) return { run: (rows) => rows };
  return { run(rows) {
    const flat = [];
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i];
      if (!isArray(row)) own(flat, flat.length, row, true);
      else for (let k = 0; k < row.length; k++) own(flat, flat.length, row[k], true);
    }
    return flat;
  } };
}

function newUnwind([inner, result]) {
  checkFunction('unwind', inner);
  if (result !== undefined) checkFunction('unwind', result);
  return { run(rows) {
    const joined = [];
    for (let i = 0; i < rows.length; i++) {
      const elements = inner(rows[i]);
      if (!isArray(elements)) continue;
      for (let k = 0; k < elements.length; k++) {
        const row = result === undefined ? elements[k] : result(rows[i], elements[k]);
        own(joined, joined.length, row, true);
      }
    }
    return joined;
  } };
}

function newSort(name, direction) {
  return ([by]) => {
    checkFunction(name, by);
    return { isSorting: true, run(rows) {
      const keyed = [];
      for (let i = 0; i < rows.length; i++) own(keyed, i, { key: by(rows[i]), row: rows[i] }, true);
      apply(sort, keyed, [(a, b) => direction * compare(a.key, b.key)]);
      const sorted = [];
      for (let i = 0; i < keyed.length; i++) own(sorted, i, keyed[i].row, true);
      return sorted;
    } };
  };
}

// Name → [stage maker, how many arguments it takes at least and at most].
const STAGES = {
  __proto__: null,
  filter: [newFilter, 1, 1],
  map: [newMap, 1, 1],
  pluck: [newPluck, 1, 1],
  flatten: [newFlatten, 0, 1],
  sortBy: [newSort('sortBy', 1), 1, 1],
  sortByDescending: [newSort('sortByDescending', -1), 1, 1],
  unwind: [newUnwind, 1, 2],
};

// How many of the arguments belong to the stage, before options and callback.
function ownArguments(name, args) {
  const [, least, most] = STAGES[name];
  if (least === most) return most;
  if (name === 'flatten') return typeof args[0] === 'boolean' ? 1 : 0;
  // unwind(inner, result?, options?, callback?): a second function with two parameters is the result.
  if (typeof args[1] !== 'function') return 1;
  return args[1].length === 2 || typeof args[2] === 'function' || typeof args[3] === 'function' ? 2 : 1;
}

const invalid = () => refusal(400, 'Invalid Continuation Token');

function parsePlace(token) {
  if (token === undefined) return { after: undefined, skip: 0, offset: 0 };
  const parts = apply(split, token, [':']);
  const count = +parts[2];
  if (parts.length !== 3 || !isSafeInteger(count) || count < 0) throw invalid();
  if (parts[0] === 'offset') return { after: undefined, skip: 0, offset: count };
  if (parts[0] !== 'place') throw invalid();
  return { after: parts[1] === '' ? undefined : parts[1], skip: count, offset: 0 };
}

export function install(kit) {
  const { native, collection, enqueue, newInfo, checkArity, optionsOf, callbackOf, pageSize, continuationOf, append } = kit;

  function isCollection(value) {
    if (value === null || typeof value !== 'object') return false;
    return value === collection || getPrototypeOf(value) === collection;
  }

  function runStages(stages, rows) {
    for (let i = 0; i < stages.length; i++) rows = stages[i].run(rows);
    return rows;
  }

  // Calls `visit(item, position)` for each item until it returns false. False if time ran out.
  function scan(after, visit) {
    for (;;) {
      const outcome = native.scan(after, SCAN_SIZE);
      if (outcome === false) return false;
      if (outcome[0] !== 0) throw refusal(outcome[0], outcome[1]);
      const [, items, positions, next] = outcome;
      for (let i = 0; i < items.length; i++) {
        if (visit(items[i], positions[i]) === false) return true;
      }
      if (next === undefined) return true;
      after = next;
    }
  }

  // Everything, sorted; the page is a cut of it.
  function sortedPage(stages, size, place) {
    const items = [];
    if (!scan(undefined, (item) => own(items, items.length, item, true))) return undefined;
    const rows = runStages(stages, items);
    const page = [];
    const end = place.offset + size;
    for (let i = place.offset; i < rows.length && i < end; i++) own(page, page.length, rows[i], true);
    return [page, end < rows.length ? `offset::${end}` : undefined];
  }

  // Item by item; an item that gives more rows than fit is continued inside.
  function streamedPage(stages, size, place) {
    const page = [];
    let { after, skip } = place;
    let continuation;
    const isWhole = scan(after, (item, position) => {
      const rows = runStages(stages, [item]);
      for (let i = skip; i < rows.length; i++) {
        if (page.length === size) {
          continuation = `place:${after ?? ''}:${i}`;
          return false;
        }
        own(page, page.length, rows[i], true);
      }
      skip = 0;
      after = position;
      return true;
    });
    return isWhole ? [page, continuation] : undefined;
  }

  function execute(stages, options, callback) {
    const wanted = pageSize(options);
    const size = wanted === -1 ? Infinity : wanted;
    const place = parsePlace(continuationOf(options));
    let isSorting = false;
    for (let i = 0; i < stages.length; i++) isSorting ||= stages[i].isSorting === true;
    let result;
    try {
      result = (isSorting ? sortedPage : streamedPage)(stages, size, place);
    } catch (error) {
      // Errors of the collection go to the callback; those of the script's own functions do not.
      if (callback === undefined || error === null || typeof error !== 'object' ||
          error.body === undefined) throw error;
      enqueue(callback, error, undefined, newInfo());
      return freeze({ isAccepted: true });
    }
    if (result === undefined) return freeze({ isAccepted: false });
    const [feed, continuation] = result;
    if (callback === undefined) append(feed);
    else enqueue(callback, undefined, feed, newInfo('continuation', continuation));
    return freeze({ isAccepted: true });
  }

  function newChain(stages) {
    const chain = {};
    for (const name in STAGES) {
      own(chain, name, (...args) => {
        const [make, least, most] = STAGES[name];
        checkArity(name, args, least);
        if (args.length > most) {
          throw refusal(400, `The function "${name}" takes neither options nor a callback inside a chain.`);
        }
        return newChain([...stages, make(args)]);
      }, true);
    }
    own(chain, 'value', (...args) => {
      return execute(stages, optionsOf('value', args, 0), callbackOf('value', args, 0));
    }, true);
    return freeze(chain);
  }

  const api = { __proto__: null, chain: () => newChain([]) };
  for (const name in STAGES) {
    api[name] = (...args) => {
      // The collection may be given as the first argument.
      if (isCollection(args[0])) {
        const [, ...rest] = args;
        args = rest;
      }
      checkArity(name, args, STAGES[name][1]);
      const count = ownArguments(name, args);
      const options = optionsOf(name, args, count);
      const callback = callbackOf(name, args, count);
      const stageArgs = [];
      for (let i = 0; i < count; i++) own(stageArgs, i, args[i], true);
      return execute([STAGES[name][0](stageArgs)], options, callback);
    };
  }

  function geometry(name, sql) {
    return (...args) => {
      checkArity(name, args, sql === 'ST_ISVALID' || sql === 'ST_ISVALIDDETAILED' ? 1 : 2);
      const names = args.length === 1 ? '@a' : '@a, @b';
      const parameters = [{ name: '@a', value: args[0] }];
      if (args.length > 1) own(parameters, 1, { name: '@b', value: args[1] }, true);
      const outcome = native.query(native.selfLink(), `SELECT VALUE ${sql}(${names})`,
        stringify(parameters), 1, undefined);
      if (outcome === false) throw refusal(408, 'There is no time left for this call.');
      if (outcome[0] !== 0) throw refusal(outcome[0], outcome[1]);
      return outcome[1][0];
    };
  }
  api.spatial = {
    __proto__: null,
    distance: geometry('distance', 'ST_DISTANCE'),
    intersects: geometry('intersects', 'ST_INTERSECTS'),
    within: geometry('within', 'ST_WITHIN'),
    isValid: geometry('isValid', 'ST_ISVALID'),
    isValidDetailed: geometry('isValidDetailed', 'ST_ISVALIDDETAILED'),
  };
  return api;
}
