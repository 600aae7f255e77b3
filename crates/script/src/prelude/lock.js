// Makes an engine fit for many runs, of whatever scripts may share one: nothing of the language can be changed, and what a run
// leaves in the global is taken away.
//
// Plain objects and errors may still get properties that are called like those of their prototypes: where a
// frozen value would forbid that, an accessor stands in its place.

import { apply } from 'globals';

const {
  defineProperty, deleteProperty, getOwnPropertyDescriptor, getPrototypeOf, isExtensible, ownKeys, setPrototypeOf,
} = Reflect;
const { create, freeze } = Object;
const hasKey = Set.prototype.has;
// Its name may come to mean something else.
const global = globalThis;

// Objects that no property leads to.
function hidden() {
  const generator = function* () {};
  const asyncGenerator = async function* () {};
  return [
    generator, generator.prototype, async function () {}, asyncGenerator, asyncGenerator.prototype,
    [][Symbol.iterator](), new Map().entries(), new Set().values(), ''[Symbol.iterator](),
    /x/[Symbol.matchAll]('x'), generator(), asyncGenerator(), [].values().map(generator),
    Iterator.from({ next: generator }),
  ].map(getPrototypeOf);
}

// Errors have two properties whose values the engine keeps beside them, so that freezing does not hold them: a function
// that hears of every error, and how much of the stack it is told.
function fixStackTraces() {
  const owner = getPrototypeOf(Error);
  defineProperty(owner, 'prepareStackTrace', { __proto__: null, value: undefined, writable: false });
  defineProperty(owner, 'stackTraceLimit', { __proto__: null, value: owner.stackTraceLimit, writable: false });
}

// A property of a prototype that objects below it may cover by assigning to it.
function yielding(owner, name, { value }) {
  return {
    __proto__: null,
    get() { return value; },
    set(covering) {
      if (this === owner || this === null || (typeof this !== 'object' && typeof this !== 'function')) return;
      defineProperty(this, name, {
        __proto__: null, value: covering, writable: true, enumerable: true, configurable: true,
      });
    },
    enumerable: false,
    configurable: false,
  };
}

function yieldBelow(owner) {
  for (const name of ownKeys(owner)) {
    const property = getOwnPropertyDescriptor(owner, name);
    if (property.writable) defineProperty(owner, name, yielding(owner, name, property));
  }
}

function freezeAll(roots) {
  const seen = new Set([global]);
  const open = [...roots];
  const visit = (value) => {
    if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return;
    if (seen.has(value)) return;
    seen.add(value);
    open.push(value);
  };
  while (open.length > 0) {
    const object = open.pop();
    visit(getPrototypeOf(object));
    for (const name of ownKeys(object)) {
      const property = getOwnPropertyDescriptor(object, name);
      visit(property.value);
      visit(property.get);
      visit(property.set);
    }
    if (object !== global) freeze(object);
  }
}

// Moves what the language put into the global to a prototype of it, where nothing can be changed: the global itself has
// little left that would have to be looked at after every run.
function moveAway() {
  const language = create(getPrototypeOf(global));
  for (const name of ownKeys(global)) {
    const property = getOwnPropertyDescriptor(global, name);
    if (!property.configurable) continue;
    defineProperty(language, name, property);
    deleteProperty(global, name);
  }
  setPrototypeOf(global, language);
  return language;
}

// Locks the language; `exposed` are objects of ours that scripts get to see. Two functions look after the global from
// then on: one says whether what was added can be taken away, one takes it away and says whether it could.
export function lock(exposed) {
  const errors = ownKeys(global).map((name) => global[name]?.prototype).filter((it) => it instanceof Error);
  for (const owner of [Object.prototype, Error.prototype, ...errors]) yieldBelow(owner);
  fixStackTraces();
  const language = moveAway();
  freezeAll([global, ...hidden(), ...exposed]);
  const before = new Set(ownKeys(global));
  return {
    __proto__: null,
    // Nothing that was there can have changed: it is read-only, and there to stay.
    isOpen: () => getPrototypeOf(global) === language && isExtensible(global),
    sweep() {
      const now = ownKeys(global);
      for (let i = 0; i < now.length; i++) {
        if (!apply(hasKey, before, [now[i]]) && !deleteProperty(global, now[i])) return false;
      }
      return true;
    },
  };
}
