// Walks over every object that a script can get hold of, to attack it or to describe it.
//
// Starts from the global, from the API and from one instance of whatever the language can make; goes on through
// prototypes, properties, getters and setters, and through what the methods of all these return. Uses nothing of the
// language after its first lines but what it took there, so that it also survives its own attacks.
(function () {
  const { apply, construct, defineProperty, deleteProperty, getOwnPropertyDescriptor, getPrototypeOf, isExtensible,
    ownKeys, setPrototypeOf } = Reflect;
  const { isFrozen, isSealed } = Object;
  const { get: mapGet, has: mapHas, set: mapSet } = Map.prototype;
  const { set: typedSet } = getPrototypeOf(Uint8Array.prototype);
  const { join, push, fill } = Array.prototype;
  const { captureStackTrace } = Error;
  const NewMap = Map;
  const base = Object.prototype;
  const text = String;
  const symbol = Symbol;
  const toPath = (value) => (typeof value === 'symbol' ? text(value) : '.' + value);
  const isObject = (value) => value !== null && (typeof value === 'object' || typeof value === 'function');
  const attempt = (action) => { try { return action(); } catch { return undefined; } };
  const add = (list, value) => defineProperty(list, list.length, {
    __proto__: null, value, writable: true, enumerable: true, configurable: true,
  });
  const { add: addTo, clear: clearSet } = Set.prototype;
  const { clear: clearMap } = Map.prototype;
  const { setTime } = Date.prototype;
  const { compile } = RegExp.prototype;
  const { transfer, resize } = ArrayBuffer.prototype;

  const strictArguments = (function () { 'use strict'; return arguments; });
  const sloppyArguments = (function () { return arguments; });
  const thrown = (action) => { try { action(); } catch (error) { return error; } };
  function deep() { return deep() + 1; }
  class Plain { #own = 1; static own(it) { return it.#own; } field = 1; method() {} get value() { return 1; } }

  // Makers of one thing of every kind.
  const makers = {
    __proto__: null,
    object: () => ({}), array: () => [1], function: () => function () {}, arrow: () => () => 1,
    async: () => async function () {}, asyncArrow: () => async () => 1,
    generatorFunction: () => function* () {}, asyncGeneratorFunction: () => async function* () {},
    generator: () => (function* () { yield 1; })(), asyncGenerator: () => (async function* () { yield 1; })(),
    class: () => Plain, instance: () => new Plain(), method: () => ({ m() {} }).m, bound: () => (function () {}).bind(1),
    strictArguments: () => strictArguments(1), sloppyArguments: () => sloppyArguments(1),
    number: () => Object(1), string: () => Object('x'), boolean: () => Object(true), symbol: () => Object(Symbol('x')),
    bigint: () => Object(1n), date: () => new Date(0), regexp: () => /(?<name>x)/dg, match: () => /(?<name>x)/d.exec('x'),
    map: () => new Map([[1, 2]]), set: () => new Set([1]), weakMap: () => new WeakMap(), weakSet: () => new WeakSet(),
    promise: () => Promise.resolve(1), proxy: () => new Proxy({}, {}), revocable: () => Proxy.revocable({}, {}),
    buffer: () => new ArrayBuffer(8), resizable: () => new ArrayBuffer(8, { maxByteLength: 16 }),
    sharedBuffer: () => new SharedArrayBuffer(8), view: () => new DataView(new ArrayBuffer(8)),
    bytes: () => new Uint8Array(8), floats: () => new Float64Array(1), bigints: () => new BigInt64Array(1),
    arrayIterator: () => [1].values(), mapIterator: () => new Map([[1, 2]]).entries(),
    setIterator: () => new Set([1]).values(), stringIterator: () => 'x'[Symbol.iterator](),
    matchIterator: () => 'x'.matchAll(/x/g), typedIterator: () => new Uint8Array(1).values(),
    mapped: () => [1].values().map((x) => x), wrapped: () => Iterator.from({ next() { return { done: true }; } }),
    concatenated: () => Iterator.concat([1]), zipped: () => Iterator.zip([[1]]),
    zippedByKey: () => Iterator.zipKeyed({ a: [1] }), stack: () => new DisposableStack(),
    asyncStack: () => new AsyncDisposableStack(), error: () => new Error('x'), numbered: () => new Error(1, 'x'),
    typeError: () => thrown(() => null.x), rangeError: () => thrown(() => [].length = -1),
    referenceError: () => thrown(() => missing), syntaxError: () => thrown(() => eval('(')),
    uriError: () => thrown(() => decodeURI('%')),
    aggregate: () => new AggregateError([]), suppressed: () => new SuppressedError(1, 2),
    parsed: () => JSON.parse('{"a": [1]}'),
    template: () => ((strings) => strings)`a${1}b`, context: () => getContext(), alias: () => __,
    collection: () => getContext().getCollection(), request: () => getContext().getRequest(),
    response: () => getContext().getResponse?.(), chain: () => __.chain(), longChain: () => __.chain().map((x) => x),
    refused: () => thrown(() => __.readAttachment('x')), badArguments: () => thrown(() => __.createDocument()),
    callSites: () => {
      Error.prepareStackTrace = (_, sites) => sites;
      return new Error('x').stack;
    },
  };

  // These take long to make, and have no methods that others do not have.
  const rare = [() => thrown(deep), () => thrown(() => new Uint8Array(1 << 30))];

  // Not called: it ends the run.
  const skipped = ['abort'];

  function reach(more) {
    const found = new NewMap();
    const objects = [];
    const visit = (value, path) => {
      if (!isObject(value) || apply(mapHas, found, [value])) return;
      apply(mapSet, found, [value, path]);
      add(objects, value);
    };
    const spread = (from) => {
      for (let i = from; i < objects.length; i++) {
        const path = apply(mapGet, found, [objects[i]]);
        visit(attempt(() => getPrototypeOf(objects[i])), path + '^');
        const keys = attempt(() => ownKeys(objects[i])) ?? [];
        for (let k = 0; k < keys.length; k++) {
          const property = attempt(() => getOwnPropertyDescriptor(objects[i], keys[k]));
          visit(property?.value, path + toPath(keys[k]));
          visit(property?.get, path + toPath(keys[k]) + ':get');
          visit(property?.set, path + toPath(keys[k]) + ':set');
        }
      }
    };
    visit(globalThis, 'global');
    spread(0);
    const names = ownKeys(makers);
    for (let i = 0; i < names.length; i++) visit(attempt(makers[names[i]]), '<' + names[i] + '>');
    for (let i = 0; i < rare.length; i++) visit(attempt(rare[i]), '<rare' + i + '>');
    for (let i = 0; i < more.length; i++) visit(more[i], '<more' + i + '>');
    spread(0);

    // What is not made anew by every call is shared, and so are prototypes of what is.
    const call = (action, path) => {
      const result = attempt(action);
      if (!isObject(result) || apply(mapHas, found, [result])) return;
      visit(attempt(() => getPrototypeOf(result)), path + '()^');
      if (attempt(action) === result) visit(result, path + '()');
    };
    const callAll = (make, path) => {
      const sample = attempt(make);
      let owner = sample;
      // What all objects have is tried on the first only.
      for (let depth = 0; isObject(owner) && depth < 4; depth++, owner = attempt(() => getPrototypeOf(owner))) {
        if (owner === base && path !== '<object>') break;
        const keys = attempt(() => ownKeys(owner)) ?? [];
        for (let k = 0; k < keys.length; k++) {
          const of = path + '^'.repeat(depth) + toPath(keys[k]);
          if (skipped.includes(keys[k])) continue;
          const method = attempt(() => sample[keys[k]]);
          if (typeof method !== 'function') continue;
          call(() => apply(method, make(), []), of);
          call(() => apply(method, make(), [(x) => x]), of);
          call(() => apply(method, make(), [1]), of);
          call(() => apply(method, make(), [{}]), of);
          call(() => construct(method, []), 'new ' + of);
        }
      }
    };
    const before = objects.length;
    for (let i = 0; i < names.length; i++) callAll(makers[names[i]], '<' + names[i] + '>');
    // In an engine that is locked the language is in the prototype.
    const globals = [...ownKeys(globalThis), ...ownKeys(getPrototypeOf(globalThis))];
    for (let i = 0; i < globals.length; i++) {
      const value = attempt(() => globalThis[globals[i]]);
      if (isObject(value) && value !== globalThis) callAll(() => value, text(globals[i]));
    }
    spread(before);
    return { found, objects };
  }

  const mine = () => 'mine';

  // Tries to change one object; says whether a plain property stuck.
  function attack(object) {
    const keys = attempt(() => ownKeys(object)) ?? [];
    for (let k = 0; k < keys.length; k++) {
      const property = attempt(() => getOwnPropertyDescriptor(object, keys[k]));
      attempt(() => { object[keys[k]] = mine; });
      if (property?.set !== undefined) {
        attempt(() => apply(property.set, object, [mine]));
        attempt(() => apply(property.set, object, ['mine']));
        attempt(() => apply(property.set, object, [{ valueOf: mine }]));
        attempt(() => apply(property.set, property.set, [mine]));
      }
      attempt(() => defineProperty(object, keys[k], { __proto__: null, value: mine }));
      attempt(() => defineProperty(object, keys[k], { __proto__: null, get: mine, set: mine }));
      attempt(() => deleteProperty(object, keys[k]));
    }
    attempt(() => { object.left = mine; });
    attempt(() => { object.toString = mine; });
    attempt(() => { object[0] = mine; });
    attempt(() => { object[symbol('left')] = mine; });
    const isStuck = attempt(() => defineProperty(object, 'left2', { __proto__: null, value: mine })) === true;
    attempt(() => setPrototypeOf(object, { __proto__: null, left: mine }));
    attempt(() => { object.__proto__ = { left: mine }; });
    attempt(() => captureStackTrace(object));
    attempt(() => apply(push, object, [mine]));
    attempt(() => apply(fill, object, [mine]));
    attempt(() => apply(mapSet, object, [mine, mine]));
    attempt(() => apply(clearMap, object, []));
    attempt(() => apply(addTo, object, [mine]));
    attempt(() => apply(clearSet, object, []));
    attempt(() => apply(typedSet, object, [[7]]));
    attempt(() => apply(setTime, object, [7]));
    attempt(() => apply(compile, object, ['mine']));
    attempt(() => apply(resize, object, [4]));
    attempt(() => apply(transfer, object, []));
    return isStuck;
  }

  function shown(found, value) {
    if (isObject(value)) return apply(mapGet, found, [value]) ?? 'another ' + typeof value;
    return typeof value + ' ' + (typeof value === 'string' ? value : text(value));
  }

  // One line for each object: all that can be seen of it.
  function describe({ found, objects }) {
    const lines = [];
    for (let i = 0; i < objects.length; i++) {
      const object = objects[i];
      const line = [apply(mapGet, found, [object]), typeof object, isExtensible(object), isSealed(object),
        isFrozen(object), shown(found, getPrototypeOf(object))];
      const keys = ownKeys(object);
      for (let k = 0; k < keys.length; k++) {
        const { value, get, set, writable, enumerable, configurable } = getOwnPropertyDescriptor(object, keys[k]);
        // The value of a getter is part of the picture: it may tell what no property does.
        const got = get === undefined ? '' : shown(found, attempt(() => object[keys[k]]));
        add(line, apply(join, [toPath(keys[k]), shown(found, value), shown(found, get), shown(found, set), got,
          writable, enumerable, configurable], [' ']));
      }
      add(lines, apply(join, line, [' | ']));
    }
    return lines;
  }

  return {
    describe: (more) => describe(reach(more)),
    attack(more) {
      const { objects } = reach(more);
      let nStuck = 0;
      // The global is another matter: what is added to it is taken away.
      for (let i = 0; i < objects.length; i++) if (objects[i] !== globalThis && attack(objects[i])) nStuck++;
      return [objects.length, nStuck];
    },
  };
})()
