// Makes an engine fit for many runs, of whatever scripts may share one: nothing of the language can be changed, and what a run
// leaves in the global is taken away.
//
// Plain objects and errors may still get properties that are called like those of their prototypes: where a
// frozen value would forbid that, an accessor stands in its place.

import { apply } from 'globals';

const { defineProperty, deleteProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
const { freeze } = Object;
const hasKey = Set.prototype.has;
const BaseFunction = Function;

// Objects that no property leads to.
function hidden() {
  const generator = function* () {};
  const asyncGenerator = async function* () {};
  return [
    generator, generator.prototype, async function () {}, asyncGenerator, asyncGenerator.prototype,
    [][Symbol.iterator](), new Map().entries(), new Set().values(), ''[Symbol.iterator](),
    /x/[Symbol.matchAll]('x'), generator(), asyncGenerator(),
  ].map(getPrototypeOf);
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
  const seen = new Set([globalThis]);
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
    if (object !== globalThis) freeze(object);
  }
}

// A function that says whether the writable variables of the global have these values. They are named in its text: to
// look up a property by a name that is known beforehand is several times cheaper, and this runs after every run.
function comparing(names, values) {
  const tests = names.map((name, i) => `global.${name} === values[${i}]`);
  return BaseFunction('global', 'values', `return () => ${tests.join(' && ')}`)(globalThis, values);
}

// Locks the language; `exposed` are objects of ours that scripts get to see. Two functions look after the global from
// then on: whether what was there is as it was, and one that takes away what was added and says whether it could.
export function lock(exposed) {
  const errors = [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError];
  for (const owner of [Object, ...errors]) yieldBelow(owner.prototype);
  freezeAll([globalThis, ...hidden(), ...exposed]);
  const prototype = getPrototypeOf(globalThis);
  const names = ownKeys(globalThis);
  const before = new Set(names);
  const writable = [];
  const values = [];
  for (const name of names) {
    const property = getOwnPropertyDescriptor(globalThis, name);
    property.configurable = false;
    defineProperty(globalThis, name, property);
    if (!property.writable) continue;
    writable.push(name);
    values.push(property.value);
  }
  const hasValues = comparing(writable, values);
  return {
    __proto__: null,
    // What was there can only have got another value: nothing of it can be deleted or made anew.
    isAsItWas: () => getPrototypeOf(globalThis) === prototype && hasValues(),
    sweep() {
      const now = ownKeys(globalThis);
      for (let i = 0; i < now.length; i++) {
        if (!apply(hasKey, before, [now[i]]) && !deleteProperty(globalThis, now[i])) return false;
      }
      return true;
    },
  };
}
