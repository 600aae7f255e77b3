// Makes an engine fit for many runs, of whatever scripts may share one: nothing of the language can be changed, and what a run
// leaves in the global is taken away.
//
// Plain objects and errors may still get properties that are called like those of their prototypes: where a
// frozen value would forbid that, an accessor stands in its place.

import { apply } from 'globals';

const {
  defineProperty, deleteProperty, getOwnPropertyDescriptor, getPrototypeOf, isExtensible, ownKeys,
} = Reflect;
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

// A function that gives the writable variables of the global these values, and throws if one is writable no longer.
// They are named in its text: to look up a property by a name that is known beforehand is several times cheaper, and
// this runs after every run.
function restoring(names, values) {
  const steps = names.map((name, i) => `global.${name} = values[${i}];`);
  return BaseFunction('global', 'values', `'use strict'; return () => { ${steps.join(' ')} }`)(globalThis, values);
}

// Locks the language; `exposed` are objects of ours that scripts get to see. Two functions look after the global from
// then on: one makes what was there as it was, one takes away what was added. Both say whether they could.
export function lock(exposed) {
  const errors = ownKeys(globalThis).map((name) => globalThis[name]?.prototype).filter((it) => it instanceof Error);
  for (const owner of [Object.prototype, Error.prototype, ...errors]) yieldBelow(owner);
  fixStackTraces();
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
  const restoreValues = restoring(writable, values);
  return {
    __proto__: null,
    // What was there can only have got another value, or have become read-only: nothing of it can be deleted or made
    // anew.
    restore() {
      if (getPrototypeOf(globalThis) !== prototype || !isExtensible(globalThis)) return false;
      restoreValues();
      return true;
    },
    sweep() {
      const now = ownKeys(globalThis);
      for (let i = 0; i < now.length; i++) {
        if (!apply(hasKey, before, [now[i]]) && !deleteProperty(globalThis, now[i])) return false;
      }
      return true;
    },
  };
}
