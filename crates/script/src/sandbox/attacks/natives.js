// Calls every function that a script can reach, on receivers and with arguments that would keep it busy without end.
//
// Gives how many there are, what each is called, and a way to make one such call. Values are made anew for every call:
// many of the functions change what they are given.
(function () {
  const { apply, construct, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
  const { add, has } = Set.prototype;
  const NewProxy = Proxy;
  const text = String;
  const LONGEST = 2 ** 53 - 1;
  const LONG = 1 << 16;

  const generator = function* () { yield 1; };
  const asyncGenerator = async function* () { yield 1; };
  const hidden = [
    generator, generator.prototype, async function () {}, asyncGenerator, asyncGenerator.prototype,
    [][Symbol.iterator](), new Map().entries(), new Set().values(), ''[Symbol.iterator](),
    /x/[Symbol.matchAll]('x'), generator(), asyncGenerator(), [].values().map((x) => x),
    Iterator.from({ next() {} }), Iterator.concat([]), Iterator.zip([[1]]),
  ];
  // Some of these are there only in a run.
  const offered = [() => __, () => __.chain(), () => getContext(), () => getContext().getCollection(),
    () => getContext().getRequest(), () => getContext().getResponse()];
  for (let i = 0; i < offered.length; i++) {
    try { hidden[hidden.length] = offered[i](); } catch { /* Not there. */ }
  }

  // Ends the run, or is this very walk.
  const skipped = ['abort'];

  const names = [];
  const functions = [];
  const owners = [];
  const seen = new Set();
  const open = [[globalThis, 'global']];
  for (let i = 0; i < hidden.length; i++) open[i + 1] = [hidden[i], '<hidden' + i + '>'];
  const visit = (value, path, owner) => {
    if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return;
    if (apply(has, seen, [value])) return;
    apply(add, seen, [value]);
    open[open.length] = [value, path];
    if (typeof value !== 'function') return;
    names[names.length] = path;
    functions[functions.length] = value;
    owners[owners.length] = owner;
  };
  for (let i = 0; i < open.length; i++) {
    const [object, path] = open[i];
    if (object === null || object === undefined) continue;
    visit(getPrototypeOf(object), path + '^', object);
    const keys = ownKeys(object);
    for (let k = 0; k < keys.length; k++) {
      if (skipped.includes(keys[k])) continue;
      const { value, get, set } = getOwnPropertyDescriptor(object, keys[k]);
      const at = path + '.' + text(keys[k]);
      visit(value, at, object);
      visit(get, at + ':get', object);
      visit(set, at + ':set', object);
    }
  }

  const endless = () => ({
    length: LONGEST, size: LONGEST, raw: { length: LONGEST }, has: isNaN, keys() { return this; }, done: false,
    next: Object.bind(null, { value: [1, 2], done: false }), [Symbol.iterator]() { return this; },
    get 0() { return this; }, [Symbol.isConcatSpreadable]: true, valueOf: () => LONGEST, exec: () => ({ index: 0, 0: '' }),
    __proto__: Iterator.prototype,
  });
  const sparse = () => { const list = []; list.length = 2 ** 32 - 1; return list; };
  const full = () => { const list = []; for (let i = 0; i < 2000; i++) list[i] = i; return list; };

  const makers = [
    ['owner', (i) => owners[i]],
    ['array-like', endless],
    ['proxy', () => new NewProxy(endless(), {})],
    ['proxy of an array', () => new NewProxy(sparse(), {})],
    ['sparse array', sparse],
    ['full array', full],
    ['long text', () => 'a'.repeat(LONG)],
    ['long bytes', () => new Uint8Array(LONG)],
    ['buffer', () => new ArrayBuffer(LONG)],
    ['large integer', () => (1n << 60000n) - 1n],
    ['map', () => new Map([[1, 2]])],
    ['set', () => new Set([1, 2])],
    ['pattern', () => /(a*)*b/g],
    ['date', () => new Date(8.64e15)],
    ['promise', () => Promise.resolve(1)],
    ['function', () => function () { return endless(); }],
  ];
  const givers = [
    () => [endless(), endless(), endless()],
    () => [sparse(), LONGEST, LONGEST],
    () => [LONGEST, LONGEST, LONGEST],
    () => [1, 0, LONGEST],
    () => ['a'.repeat(LONG / 2) + 'b', 'a'.repeat(LONG)],
    () => [(1n << 60000n) - 1n, (1n << 60000n) - 1n],
    () => [() => endless(), endless()],
    () => [/(a|aa)+$/g, 'a'.repeat(LONG)],
    () => [new NewProxy(sparse(), {}), endless()],
  ];

  return {
    nFunctions: functions.length,
    nReceivers: makers.length,
    nArguments: givers.length,
    name: (i) => names[i],
    receiver: (r) => makers[r][0],
    call(i, r, a) {
      try { apply(functions[i], makers[r][1](i), givers[a]()); } catch { /* Refused. */ }
    },
    make(i, a) {
      try { construct(functions[i], givers[a]()); } catch { /* No constructor, or refused. */ }
    },
  };
})()
