// What every script sees, whatever its kind: errors with numbers, the injected clock and randomness.
//
// Loaded before any script text, so what is captured here stays what it was when a script replaces it.
// The wall around a script is the native side, not this file: whatever a script does to these objects
// or to the prototypes, it can only confuse itself.

import { guard } from 'guards';

const { apply, construct, defineProperty, setPrototypeOf } = Reflect;
const { parse, stringify } = JSON;
const BaseError = Error;
const BaseSyntaxError = SyntaxError;
const BaseDate = Date;
const BaseFunction = Function;
const toText = String;
const captureStackTrace = BaseError.captureStackTrace;
const { freeze } = Object;
const sourceOf = BaseFunction.prototype.toString;
const dateText = BaseDate.prototype.toString;
const match = RegExp.prototype.exec;
const addTo = WeakSet.prototype.add;
const isIn = WeakSet.prototype.has;

// Errors that the server made: only these decide the status of the answer.
const refusals = new WeakSet();

export { apply, parse, stringify, toText };

// Sets an own property, past whatever a script put on the prototypes.
export function own(target, name, value, enumerable = false) {
  defineProperty(target, name, {
    __proto__: null, value, enumerable, writable: true, configurable: true,
  });
}

// Sets a property that a script cannot take away.
export function fixed(target, name, value) {
  defineProperty(target, name, {
    __proto__: null, value, enumerable: true, writable: false, configurable: false,
  });
}

// An error that the server answers with: `{number, body}` for callbacks, a real Error for `throw`.
export function refusal(number, body) {
  const error = construct(BaseError, [body]);
  own(error, 'number', number, true);
  own(error, 'body', body, true);
  apply(addTo, refusals, [error]);
  return error;
}

// Wire: `new Error(number, message)` beside the standard forms.
function installError() {
  function ScriptError(first, second) {
    const isNumbered = typeof first === 'number' && second !== undefined;
    const target = new.target === undefined ? ScriptError : new.target;
    const error = construct(BaseError, isNumbered ? [second] : arguments, target);
    if (isNumbered) own(error, 'number', first);
    apply(captureStackTrace, BaseError, [error, target]);
    return error;
  }
  own(ScriptError, 'name', 'Error');
  own(ScriptError, 'length', 1);
  ScriptError.prototype = BaseError.prototype;
  own(BaseError.prototype, 'constructor', ScriptError);
  setPrototypeOf(ScriptError, BaseError);
  own(globalThis, 'Error', ScriptError);
}

// The clock that the rest of the server uses, also when a test has moved it.
function installDate(native) {
  function ScriptDate(...parts) {
    if (new.target === undefined) return apply(dateText, new BaseDate(native.now()), []);
    return construct(BaseDate, parts.length === 0 ? [native.now()] : parts, new.target);
  }
  own(ScriptDate, 'name', 'Date');
  own(ScriptDate, 'length', 7);
  own(ScriptDate, 'now', () => native.now());
  own(ScriptDate, 'parse', BaseDate.parse);
  own(ScriptDate, 'UTC', BaseDate.UTC);
  ScriptDate.prototype = BaseDate.prototype;
  own(BaseDate.prototype, 'constructor', ScriptDate);
  own(globalThis, 'Date', ScriptDate);
}

// A function of this text. The engine pastes the text between the braces of a function and looks at the whole, so the
// text could close the brace and go on with code that would run here and now, and give a function of its own choice.
// Frozen, for an arrow function sees the `arguments` of this one, and `callee` leads from run to run.
function newFactory(text) {
  const factory = BaseFunction(text);
  // No template: it calls a method, which such a text may have replaced.
  const isWhole = typeof factory === 'function' &&
    apply(sourceOf, factory, []) === 'function anonymous(\n) {\n' + text + '\n}';
  if (!isWhole) throw construct(BaseSyntaxError, ['the body of a script must be one function']);
  freeze(factory.prototype);
  return freeze(factory);
}

// The factory of a body that is more than one expression, or undefined. What stands behind the function is a semicolon,
// a comment, or helpers.
function newLooseFactory(text) {
  // Made here and not above: it costs every run and serves few.
  const namedFunction = /function\s*\*?\s*([A-Za-z_$][\w$]*)\s*\(/;
  const beginsUnnamed = /^\s*(async\s*)?(function\s*\*?\s*)?\(/;
  const found = apply(match, namedFunction, [text]);
  // A comma and not the mere word: behind that a line may end the statement. And no name: the function would get it.
  const first = 'return 0,' + text;
  const texts = [first];
  if (found !== null) {
    const named = text + '\nreturn ' + found[1];
    if (apply(match, beginsUnnamed, [text]) !== null) texts[1] = named;
    else { texts[0] = named; texts[1] = first; }
  }
  for (let i = 0; i < texts.length; i++) {
    try {
      return newFactory(texts[i]);
    } catch {
      // The first mistake is the one to tell.
    }
  }
  return undefined;
}

// Parses a body; the result, when called, gives the script's function.
// A body is one function; helpers declared beside it are tolerated, and then the first one is it.
export function compile(text) {
  try {
    return newFactory('return (' + text + '\n)');
  } catch (error) {
    const factory = newLooseFactory(text);
    if (factory === undefined) throw error;
    return factory;
  }
}

function textOf(thrown) {
  try {
    if (thrown === null || typeof thrown !== 'object') return toText(thrown);
    if (thrown instanceof BaseError) return toText(thrown);
    return stringify(thrown) ?? 'object';
  } catch {
    return 'a value without text';
  }
}

function read(thrown, name, type) {
  try {
    const value = thrown === null || typeof thrown !== 'object' ? undefined : thrown[name];
    return typeof value === type ? value : undefined;
  } catch {
    return undefined;
  }
}

// [number, whether the server made it, text, stack] of whatever was thrown.
export function describe(thrown) {
  const isObject = typeof thrown === 'object' && thrown !== null;
  const isRefusal = isObject && apply(isIn, refusals, [thrown]);
  const number = read(thrown, 'number', 'number') ?? 0;
  return [number, isRefusal, textOf(thrown), read(thrown, 'stack', 'string') ?? ''];
}

function installConsole(native) {
  const split = RegExp.prototype[Symbol.split];
  function format(first, rest) {
    if (rest.length === 0) return toText(first);
    if (typeof first !== 'string') {
      throw refusal(400, 'The first argument of console.log must be a string when there are several.');
    }
    const parts = apply(split, /%s/, [first]);
    let text = parts[0];
    for (let i = 1; i < parts.length; i++) {
      text += (i <= rest.length ? toText(rest[i - 1]) : '%s') + parts[i];
    }
    return text;
  }
  const console = {
    log(first, ...rest) {
      if (native.isLogging()) native.log(format(first, rest));
    },
  };
  fixed(globalThis, 'console', Object.freeze(console));
}

export function install(native) {
  guard(native);
  installError();
  installDate(native);
  installConsole(native);
  own(Math, 'random', () => native.random());
  fixed(globalThis, 'ErrorCodes', Object.freeze({
    BadRequest: 400, Forbidden: 403, NotFound: 404, Conflict: 409, PreconditionFailed: 412,
    RequestEntityTooLarge: 413, RetryWith: 449, InternalServerError: 500,
  }));
  return { __proto__: null, compile, describe };
}
