// Natives that would run for long, or without end, between two looks of the engine at its clock.
//
// The engine looks when a function of a script begins, at jumps, and while it matches patterns, and even then only every
// ten thousandth time; inside its own functions it does not. So functions that go through something of any length stand
// behind one of ours, which counts as a function of a script, and
// - looks at the clock itself before large work, and now and then before small work;
// - refuses arrays that are longer than memory allows them to be full;
// - hands array-likes, iterators and the like on behind functions of ours, so that every step is one that can be stopped.

const { apply, construct, defineProperty, deleteProperty, get, getOwnPropertyDescriptor, has, ownKeys, set } = Reflect;
const { isArray } = Array;
const { isView } = ArrayBuffer;
const BaseProxy = Proxy;
const TooLong = RangeError;
const iterator = Symbol.iterator;
const spreadable = Symbol.isConcatSpreadable;
const TypedArray = Reflect.getPrototypeOf(Uint8Array);
const typedLength = getOwnPropertyDescriptor(TypedArray.prototype, 'length').get;
const bufferLengths = [ArrayBuffer, SharedArrayBuffer].map(
  (kind) => getOwnPropertyDescriptor(kind.prototype, 'byteLength').get);
const { indexOf, lastIndexOf, slice, startsWith } = String.prototype;

// Limit: steps of one call that are not worth a look at the clock, and how many such calls are.
const FEW_STEPS = 4096;
const FEW_CALLS = 64;
// Limit: elements of a real array: a full one of more does not fit into the memory of a script.
const ELEMENTS_MAX = 1 << 23;
// Limit: elements that are sorted, or counted as work when texts are searched.
const SORTED_MAX = 1 << 20;
const COMPARED_MAX = 1 << 22;
// Limit: text of a pattern: it may be compared at ten thousand places between two looks of the engine at its clock.
const PATTERN_MAX = 1 << 14;

let look;
let isProxyValue;
let mayBeProxy = false;
let nCalls = 0;

function own(target, name, value) {
  defineProperty(target, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
}

function tick() {
  nCalls++;
  if (nCalls >= FEW_CALLS) {
    nCalls = 0;
    look();
  }
}

// Before work of so many steps.
function weigh(nSteps, most) {
  if (nSteps > FEW_STEPS) {
    if (nSteps > most) throw new TooLong('the array is too long for a script');
    look();
  } else tick();
}

// Only a buffer has a length that the getter of its kind gives.
function isBuffer(value) {
  for (let i = 0; i < bufferLengths.length; i++) {
    try {
      apply(bufferLengths[i], value, []);
      return true;
    } catch { /* Of another kind. */ }
  }
  return false;
}

const isProxy = (value) => mayBeProxy && isProxyValue(value);
const isRealArray = (value) => isArray(value) && !isProxy(value);

// Every step of a native through this is a call of ours.
const passing = {
  __proto__: null,
  get: (target, name) => get(target, name),
  has: (target, name) => has(target, name),
  set(target, name, value) {
    // A set may turn a long text into a number, every time.
    tick();
    return set(target, name, value);
  },
  deleteProperty: (target, name) => deleteProperty(target, name),
};

// What a native may be given in the place of an array-like.
function listed(value, most) {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) {
    if (typeof value === 'string') weigh(value.length, ELEMENTS_MAX * 16);
    return value;
  }
  if (!isProxy(value)) {
    if (isArray(value)) {
      weigh(value.length, most);
      return value;
    }
    if (isView(value)) {
      const n = apply(typedLength, value, []) ?? 0;
      weigh(n, ELEMENTS_MAX * 16);
      return n > FEW_STEPS ? new BaseProxy(value, passing) : value;
    }
    const length = getOwnPropertyDescriptor(value, 'length');
    if (length !== undefined && typeof length.value === 'number' && !(length.value > FEW_STEPS)) {
      tick();
      return value;
    }
  }
  return new BaseProxy(value, passing);
}

// Reads an iterator step by step.
function relayed(inner, next) {
  return {
    __proto__: null,
    [iterator]() { return this; },
    next() { return apply(next, inner, []); },
    return() {
      const end = inner.return;
      return end === undefined || end === null ? {} : apply(end, inner, []);
    },
  };
}

// What a native may be given in the place of something to iterate over. What has no iterator is left alone.
function iterated(value) {
  tick();
  if (value === undefined || value === null) return value;
  const begin = value[iterator];
  if (begin === undefined || begin === null) return value;
  const inner = apply(begin, value, []);
  return inner === null || typeof inner !== 'object' ? inner : relayed(inner, inner.next);
}

const iteratedOrListed = (value) => {
  const hasIterator = value !== undefined && value !== null && typeof value !== 'string' &&
    value[iterator] !== undefined && value[iterator] !== null;
  return hasIterator ? iterated(value) : listed(value, ELEMENTS_MAX);
};

// Puts `guard(native, receiver, arguments)` in the place of a native, under the same name and length.
function replace(owner, name, guard) {
  const property = getOwnPropertyDescriptor(owner, name);
  if (property === undefined || typeof property.value !== 'function') return;
  const native = property.value;
  const guarded = { [name](...args) { return guard(native, this, args); } }[name];
  if (native.length !== 0) {
    defineProperty(guarded, 'length', { __proto__: null, value: native.length, configurable: true });
  }
  property.value = guarded;
  defineProperty(owner, name, property);
}

function replaceAll(owner, names, guard) {
  for (let i = 0; i < names.length; i++) replace(owner, names[i], guard);
}

// The same for a function that makes objects.
function replaceConstructor(name, guard) {
  const native = globalThis[name];
  const guarded = new BaseProxy(native, {
    __proto__: null,
    apply: (target, self, args) => apply(target, self, guard(args)),
    construct: (target, args, made) => construct(target, guard(args), made === guarded ? target : made),
  });
  defineProperty(globalThis, name, { __proto__: null, value: guarded, writable: true, configurable: true });
  const of = native.prototype;
  if (of !== undefined) defineProperty(of, 'constructor', { __proto__: null, value: guarded, writable: true, configurable: true });
}

const onList = (native, self, args) => {
  const list = listed(self, ELEMENTS_MAX);
  const result = apply(native, list, args);
  return result === list ? self : result;
};

const onSorted = (native, self, args) => {
  const list = listed(self, typeof args[0] === 'function' ? ELEMENTS_MAX : SORTED_MAX);
  const result = apply(native, list, args);
  return result === list ? self : result;
};

// Arrays in an array, as deep as it is to be flattened.
function weighNested(list, depth) {
  if (!isRealArray(list)) return;
  weigh(list.length, ELEMENTS_MAX);
  if (!(depth > 0)) return;
  for (let i = 0; i < list.length; i++) {
    const property = getOwnPropertyDescriptor(list, i);
    if (property !== undefined && isArray(property.value)) weighNested(property.value, depth - 1);
  }
}

function guardArrays() {
  const list = Array.prototype;
  replaceAll(list, ['copyWithin', 'every', 'fill', 'filter', 'find', 'findIndex', 'findLast', 'findLastIndex', 'forEach',
    'includes', 'indexOf', 'join', 'lastIndexOf', 'map', 'reduce', 'reduceRight', 'reverse', 'shift', 'slice', 'some',
    'splice', 'toLocaleString', 'toReversed', 'toSpliced', 'unshift', 'with'], onList);
  replaceAll(list, ['sort', 'toSorted'], onSorted);
  replace(list, 'flat', (native, self, args) => {
    weighNested(self, args[0] === undefined ? 1 : Math.min(+args[0], 1000));
    return onList(native, self, args);
  });
  replace(list, 'flatMap', (native, self, [each, that, ...rest]) => {
    const nested = typeof each !== 'function' ? each : function (...args) {
      const value = apply(each, this, args);
      if (isArray(value)) return isProxy(value) ? new BaseProxy(value, passing) : (weigh(value.length, ELEMENTS_MAX), value);
      return value;
    };
    return onList(native, self, [nested, that, ...rest]);
  });
  replace(list, 'concat', (native, self, args) => {
    const spread = (value) => {
      if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return value;
      const choice = value[spreadable];
      return (choice === undefined ? isArray(value) : choice) ? listed(value, ELEMENTS_MAX) : value;
    };
    const given = [];
    for (let i = 0; i < args.length; i++) own(given, i, spread(args[i]));
    return apply(native, spread(self), given);
  });
  const from = (native, self, args) => {
    if (args.length > 0) args[0] = iteratedOrListed(args[0]);
    return apply(native, self, args);
  };
  replace(Array, 'from', from);
  replace(TypedArray, 'from', from);
}

// Finds a text in another, one place after the other.
function find(text, part, from) {
  let at = apply(indexOf, text, [part[0], from]);
  while (at !== -1 && !apply(startsWith, text, [part, at])) {
    tick();
    at = apply(indexOf, text, [part[0], at + 1]);
  }
  return at;
}

function guardTexts() {
  const text = String.prototype;
  const textOf = (self) => (typeof self === 'string' || self === null || self === undefined ? self : `${self}`);
  const onText = (native, self, args) => {
    const given = textOf(self);
    weigh(given?.length ?? 0, Infinity);
    return apply(native, given, args);
  };
  const checkPattern = (pattern) => {
    if (typeof pattern === 'string' && pattern.length > PATTERN_MAX) throw new TooLong('the pattern is too long for a script');
  };
  replaceAll(text, ['match', 'matchAll', 'search'], (native, self, args) => {
    checkPattern(args[0]);
    return onText(native, self, args);
  });
  replaceAll(text, ['localeCompare', 'normalize', 'padEnd', 'padStart', 'repeat', 'toLocaleLowerCase',
    'toLocaleUpperCase', 'toLowerCase', 'toUpperCase', 'toWellFormed', 'isWellFormed'], onText);
  // A search takes as many steps as both are long together, mostly; the product of both at worst.
  const isHard = (self, part) => {
    if (typeof self !== 'string' || typeof part !== 'string') return false;
    weigh(self.length, Infinity);
    return part.length > 1 && self.length * part.length > COMPARED_MAX;
  };
  const from = (at, most) => (at === undefined ? 0 : Math.min(Math.max(Math.trunc(+at) || 0, 0), most));
  replace(text, 'indexOf', (native, self, args) => (isHard(self, args[0])
    ? find(self, args[0], from(args[1], self.length)) : apply(native, self, args)));
  replace(text, 'includes', (native, self, args) => (isHard(self, args[0])
    ? find(self, args[0], from(args[1], self.length)) !== -1 : apply(native, self, args)));
  replace(text, 'lastIndexOf', (native, self, args) => {
    if (!isHard(self, args[0])) return apply(native, self, args);
    const part = args[0];
    const given = args[1] === undefined ? NaN : +args[1];
    let at = given !== given ? self.length : from(given, self.length);
    for (;;) {
      at = apply(lastIndexOf, self, [part[0], at]);
      if (at === -1 || apply(startsWith, self, [part, at])) return at;
      if (at === 0) return -1;
      tick();
      at--;
    }
  });
  replace(text, 'split', (native, self, args) => {
    if (!isHard(self, args[0])) return apply(native, self, args);
    const part = args[0];
    const most = args[1] === undefined ? 2 ** 32 - 1 : args[1] >>> 0;
    const pieces = [];
    let begin = 0;
    for (let n = 0; n < most; n++) {
      const end = find(self, part, begin);
      own(pieces, n, end === -1 ? apply(slice, self, [begin]) : apply(slice, self, [begin, end]));
      if (end === -1) break;
      begin = end + part.length;
    }
    return pieces;
  });
  const onParts = (isAll) => (native, self, args) => {
    if (!isHard(self, args[0])) return apply(native, self, args);
    const [part, given] = args;
    const put = typeof given === 'function' ? (at) => `${given(part, at, self)}` : plainly(`${given}`);
    let made = '';
    let begin = 0;
    for (;;) {
      const at = find(self, part, begin);
      if (at === -1) break;
      made += apply(slice, self, [begin, at]) + put(at);
      begin = at + part.length;
      if (!isAll) break;
    }
    return made + apply(slice, self, [begin]);
  };
  const plainly = (given) => {
    if (apply(indexOf, given, ['$']) !== -1) throw new TooLong('the texts are too long for a replacement with $');
    return () => given;
  };
  replace(text, 'replace', onParts(false));
  replace(text, 'replaceAll', onParts(true));
  replace(String, 'raw', (native, self, args) => {
    const template = args[0];
    if (template === undefined || template === null) return apply(native, self, args);
    return apply(native, self, [{ __proto__: null, raw: listed(template.raw, ELEMENTS_MAX) }, ...args.slice(1)]);
  });
  replaceAll(globalThis, ['decodeURI', 'decodeURIComponent', 'encodeURI', 'encodeURIComponent', 'escape', 'unescape'],
    (native, self, [given]) => {
      const text = `${given}`;
      weigh(text.length, Infinity);
      return apply(native, self, [text]);
    });
}

function guardTypedArrays() {
  const names = ownKeys(TypedArray.prototype);
  for (let i = 0; i < names.length; i++) {
    const name = names[i];
    if (name === 'constructor' || name === 'sort' || name === 'toSorted' || name === 'at') continue;
    replace(TypedArray.prototype, name, (native, self, args) => {
      if (isView(self)) weigh(apply(typedLength, self, []) ?? 0, Infinity);
      return apply(native, self, args);
    });
  }
  const made = (args) => {
    const [given, ...rest] = args;
    if (given === null || typeof given !== 'object' || isBuffer(given)) return args;
    return [isView(given) ? given : iteratedOrListed(given), ...rest];
  };
  for (const name of ['Int8', 'Uint8', 'Uint8Clamped', 'Int16', 'Uint16', 'Int32', 'Uint32', 'BigInt64', 'BigUint64',
    'Float16', 'Float32', 'Float64']) {
    if (globalThis[name + 'Array'] !== undefined) replaceConstructor(name + 'Array', made);
  }
  replaceAll(TypedArray.prototype, ['sort', 'toSorted'], (native, self, args) => {
    if (isView(self)) weigh(apply(typedLength, self, []) ?? 0, SORTED_MAX);
    return apply(native, self, args);
  });
}

function guardIterators() {
  const first = (native, self, args) => apply(native, self, args.length > 0 ? [iterated(args[0]), ...args.slice(1)] : args);
  replace(Object, 'fromEntries', first);
  replace(Object, 'groupBy', first);
  replace(Map, 'groupBy', first);
  replaceAll(Promise, ['all', 'allSettled', 'any', 'race'], first);
  replace(Math, 'sumPrecise', first);
  replace(Iterator, 'concat', (native, self, args) => {
    const given = [];
    for (let i = 0; i < args.length; i++) own(given, i, iterated(args[i]));
    return apply(native, self, given);
  });
  const methods = ownKeys(Iterator.prototype);
  for (let i = 0; i < methods.length; i++) {
    if (typeof methods[i] !== 'string' || methods[i] === 'constructor') continue;
    replace(Iterator.prototype, methods[i], (native, self, args) => {
      tick();
      const isObject = self !== null && typeof self === 'object';
      return apply(native, isObject ? relayed(self, self.next) : self, args);
    });
  }
  replaceAll(Set.prototype, ['difference', 'intersection', 'isDisjointFrom', 'isSubsetOf', 'isSupersetOf',
    'symmetricDifference', 'union'], (native, self, [other]) => {
    tick();
    if (other === null || typeof other !== 'object') return apply(native, self, [other]);
    const { has: holds, keys } = other;
    const passed = {
      __proto__: null,
      size: other.size,
      has: typeof holds !== 'function' ? holds : (value) => apply(holds, other, [value]),
      keys: typeof keys !== 'function' ? keys : () => {
        const inner = apply(keys, other, []);
        return inner === null || typeof inner !== 'object' ? inner : relayed(inner, inner.next);
      },
    };
    return apply(native, self, [passed]);
  });
  const made = (args) => (args.length > 0 ? [iterated(args[0]), ...args.slice(1)] : args);
  for (const name of ['AggregateError', 'Map', 'Set', 'WeakMap', 'WeakSet']) replaceConstructor(name, made);
}

function guardObjects() {
  const ticking = (native, self, args) => {
    tick();
    return apply(native, self, args);
  };
  replaceAll(Object, ['assign', 'defineProperties', 'entries', 'freeze', 'getOwnPropertyDescriptors', 'getOwnPropertyNames',
    'getOwnPropertySymbols', 'isFrozen', 'isSealed', 'keys', 'seal', 'values'], ticking);
  replace(Reflect, 'ownKeys', ticking);
  replace(JSON, 'parse', (native, self, args) => {
    if (typeof args[0] === 'string') weigh(args[0].length, Infinity);
    return apply(native, self, args);
  });
  replace(JSON, 'stringify', (native, self, args) => {
    if (isArray(args[0])) args[0] = listed(args[0], ELEMENTS_MAX);
    else tick();
    const names = args[1];
    if (isArray(names)) args[1] = isProxy(names) ? [...names] : (weigh(names.length, ELEMENTS_MAX), names);
    return apply(native, self, args);
  });
  const native = BaseProxy;
  const guarded = new BaseProxy(native, {
    __proto__: null,
    construct(target, args) {
      mayBeProxy = true;
      return construct(target, args);
    },
  });
  replace(native, 'revocable', (base, self, args) => {
    mayBeProxy = true;
    return apply(base, self, args);
  });
  defineProperty(globalThis, 'Proxy', { __proto__: null, value: guarded, writable: true, configurable: true });
}

export function guard(native) {
  ({ look, isProxy: isProxyValue } = native);
  guardArrays();
  guardTexts();
  guardTypedArrays();
  guardIterators();
  guardObjects();
}
