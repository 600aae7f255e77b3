// The names of all functions that the language and the server offer: on one line those of variables, on the next those of
// properties, wherever they are found.
(function () {
  const { getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
  const generator = function* () {};
  const asyncGenerator = async function* () {};
  const hidden = [
    generator, generator.prototype, async function () {}, asyncGenerator, asyncGenerator.prototype,
    [][Symbol.iterator](), new Map().entries(), new Set().values(), ''[Symbol.iterator](),
    /x/[Symbol.matchAll]('x'), generator(), asyncGenerator(),
  ];
  const names = new Set();
  const seen = new Set();
  const open = [globalThis, ...hidden];
  while (open.length > 0) {
    const object = open.pop();
    if (object === null || (typeof object !== 'object' && typeof object !== 'function')) continue;
    if (seen.has(object)) continue;
    seen.add(object);
    open.push(getPrototypeOf(object));
    for (const name of ownKeys(object)) {
      const { value, get, set } = getOwnPropertyDescriptor(object, name);
      if (typeof name === 'string' && typeof value === 'function') names.add(name);
      open.push(value, get, set);
    }
  }
  const variables = [];
  for (let object = globalThis; object !== null; object = getPrototypeOf(object)) {
    for (const name of ownKeys(object)) {
      if (typeof name === 'string' && names.has(name)) variables.push(name);
    }
  }
  return variables.join(' ') + '\n' + [...names].join(' ');
})()
