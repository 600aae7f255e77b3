// The server-side API of stored procedures and triggers: context, request, response, collection.
//
// Operations take effect when they are called, in order; callbacks run later, one at a time, from the
// queue here. So a callback that starts the next operation never deepens the stack.

import { apply, fixed, install as installGlobals, own, parse, refusal, stringify } from 'globals';

const { assign, create, defineProperty, freeze } = Object;
const plain = Object.prototype;
const noOptions = freeze({ __proto__: null });

// The roles of scripts, as `run.rs` numbers them.
const PROCEDURE = 0;
const PRE = 1;
const isSafeInteger = Number.isSafeInteger;

const PAGE_SIZE = 100;

// More arguments than a callback gets.
const ALL = 9;

// The place of the next one in an entry of the queue.
const NEXT = 4;

// `installQuery` comes with scripts that mention the query API: it is a third of the prelude.
export function install(native, installQuery) {
  const globals = installGlobals(native);
  let head;
  let tail;

  function enqueue(callback, err, value, info) {
    const entry = [callback, err, value, info, undefined];
    if (tail === undefined) head = entry;
    else tail[NEXT] = entry;
    tail = entry;
  }

  // Runs the oldest callback, if there is one; says whether there is another.
  function step() {
    const entry = head;
    if (entry === undefined) return false;
    head = entry[NEXT];
    if (head === undefined) tail = undefined;
    const callback = entry[0];
    callback(entry[1], entry[2], entry[3]);
    return head !== undefined;
  }

  const sizes = freeze({
    get currentCollectionSizeInMB() { return native.usage()[0]; },
    get maxCollectionSizeInMB() { return native.usage()[1]; },
  });

  // What a callback gets to know beside the answer; a fact that is undefined is left out.
  function newInfo(name, fact) {
    const info = create(sizes);
    if (fact !== undefined) own(info, name, fact, true);
    return info;
  }

  // Passes a refusal on: to the callback, or as an exception.
  function refuse(number, body, callback) {
    const error = refusal(number, body);
    if (callback === undefined) throw error;
    enqueue(callback, error, undefined, newInfo('statusCode', number));
    return true;
  }

  // Passes an outcome on: `false` was not accepted, [0, value, extra] succeeded, [number, text] failed.
  function settle(outcome, callback, nSeen, name) {
    if (outcome === false) return false;
    if (outcome[0] !== 0) return refuse(outcome[0], outcome[1], callback);
    if (callback === undefined) return true;
    enqueue(callback, undefined, outcome[1], nSeen > 2 ? newInfo(name, outcome[2]) : undefined);
    return true;
  }

  // How many of its arguments a callback can look at; nothing is made for the others. A function of the script has a
  // prototype; others (arrows, bound ones, those of the language) are not asked what they take.
  function seen(callback) {
    if (callback === undefined) return 0;
    return takesWhatItNames && 'prototype' in callback ? callback.length : ALL;
  }

  // Options may be left out; the callback then stands in their place.
  function optionsOf(name, args, at) {
    const options = args[at];
    if (options === undefined || options === null || typeof options === 'function') return noOptions;
    if (typeof options === 'object') return options;
    throw refusal(400, `The options of the function "${name}" must be an object.`);
  }

  function callbackOf(name, args, at) {
    const callback = typeof args[at] === 'function' ? args[at] : args[at + 1];
    if (callback === undefined || callback === null) return undefined;
    if (typeof callback === 'function') return callback;
    throw refusal(400, `The callback of the function "${name}" must be a function.`);
  }

  function checkArity(name, args, least) {
    if (args.length >= least) return;
    throw refusal(400, `The function "${name}" requires at least ${least} argument(s) ` +
      `but was called with ${args.length} argument(s).`);
  }

  function text(value, name) {
    if (value === undefined || value === null) return undefined;
    if (typeof value !== 'string') throw refusal(400, `The option "${name}" must be a string.`);
    return value;
  }

  // Wire: an empty continuation is none.
  function continuationOf(options) {
    return text(options.continuation, 'continuation') || undefined;
  }

  function pageSize(options) {
    const size = options.pageSize;
    if (size === undefined || size === null) return PAGE_SIZE;
    if (size === -1 || (isSafeInteger(size) && size > 0)) return size;
    throw refusal(400, `The input PageSize ${size} is invalid. Ensure to pass a valid page size ` +
      'which must be a positive integer or -1 for a dynamic page size');
  }

  function checkIndexAction({ indexAction }) {
    if (indexAction === undefined || indexAction === null || indexAction === 'default' ||
        indexAction === 'include' || indexAction === 'exclude') return;
    throw refusal(400, `The option "indexAction" has the unknown value '${indexAction}'.`);
  }

  // The item that a script passed as an object or as text.
  function itemOf(item, options, makesId) {
    if (options !== noOptions) checkIndexAction(options);
    if (typeof item === 'string') {
      try {
        item = parse(item);
      } catch (error) {
        throw refusal(400, 'The input content is invalid JSON: ' + error.message);
      }
    }
    if (item === null || typeof item !== 'object') {
      throw refusal(400, 'One of the input values is invalid.');
    }
    if (makesId && !item.id && options.disableAutomaticIdGeneration !== true) {
      item = assign({}, item, { id: native.uuid() });
    }
    return item;
  }

  // Writes an item. The server makes the text of plain data, and asks for that of anything else.
  function write(call, link, item, callback, etag) {
    const nSeen = seen(callback);
    const outcome = call(link, item, plain, nSeen > 1, etag) ?? call(link, stringify(item), plain, nSeen > 1, etag);
    return settle(outcome, callback, nSeen);
  }

  function newQuery(query) {
    if (typeof query === 'string') return [query, undefined];
    if (query !== null && typeof query === 'object' && typeof query.query === 'string') {
      return [query.query, stringify(query.parameters ?? [])];
    }
    throw refusal(400, 'The query must be a string or an object with a "query" property.');
  }

  const collection = {};

  function operation(name, least, run) {
    collection[name] = (...args) => {
      // As most calls are: enough arguments, no options.
      if (typeof args[least] === 'function') return run(noOptions, args[least], args[0], args[1]);
      checkArity(name, args, least);
      const options = optionsOf(name, args, least);
      return run(options, callbackOf(name, args, least), args[0], args[1]);
    };
  }

  collection.getSelfLink = () => native.selfLink();
  collection.getAltLink = () => native.altLink();

  // Documents and their attachments have the same operations under other names. What is created stands below a link
  // to its owner; what is there is named by a link of its own.
  function operations(kind, calls) {
    const { read, feed, query: run, create, upsert, replace, remove } = calls;
    operation(`read${kind}`, 1, (options, callback, link) => {
      const nSeen = seen(callback);
      return settle(read(link, plain, nSeen > 1, text(options.ifNoneMatch, 'ifNoneMatch')), callback, nSeen,
        'notModified');
    });
    operation(`read${kind}s`, 1, (options, callback, link) =>
      settle(feed(link, pageSize(options), continuationOf(options)), callback, seen(callback), 'continuation'));
    operation(`query${kind}s`, 2, (options, callback, link, query) => {
      if (calls.isFiltered && typeof query === 'function') return queries().filter(query, options, callback).isAccepted;
      const [sql, parameters] = newQuery(query);
      return settle(run(link, sql, parameters, pageSize(options),
        continuationOf(options)), callback, seen(callback), 'continuation');
    });
    operation(`create${kind}`, 2, (options, callback, link, item) =>
      write(create, link, itemOf(item, options, true), callback));
    operation(`upsert${kind}`, 2, (options, callback, link, item) =>
      write(upsert, link, itemOf(item, options, true), callback, text(options.etag, 'etag')));
    operation(`replace${kind}`, 2, (options, callback, link, item) =>
      write(replace, link, itemOf(item, options, false), callback, text(options.etag, 'etag')));
    operation(`delete${kind}`, 1, (options, callback, link) => {
      const outcome = remove(link, text(options.etag, 'etag'));
      return settle(outcome !== false && outcome[0] === 0 ? [0, {}] : outcome, callback, seen(callback));
    });
  }
  operations('Document', {
    read: native.read, feed: native.feed, query: native.query, isFiltered: true, create: native.create,
    upsert: native.upsert, replace: native.replace, remove: native.remove,
  });
  operations('Attachment', {
    read: native.readAttachment, feed: native.feedAttachments, query: native.queryAttachments, isFiltered: false,
    create: native.createAttachment, upsert: native.upsertAttachment, replace: native.replaceAttachment,
    remove: native.removeAttachment,
  });

  // The query API is built when a script first uses it.
  let built;
  function queries() {
    if (installQuery === undefined) throw refusal(400, 'The query API must be called by its plain names.');
    return built ??= installQuery({
      native, collection, enqueue, newInfo, checkArity, optionsOf, callbackOf, pageSize, continuationOf,
      append: (feed) => part.append(feed),
    });
  }
  for (const name of ['filter', 'map', 'pluck', 'flatten', 'sortBy', 'sortByDescending', 'unwind',
    'chain']) {
    collection[name] = (...args) => apply(queries()[name], undefined, args);
  }
  const spatial = {};
  for (const name of ['distance', 'intersects', 'within', 'isValid', 'isValidDetailed']) {
    spatial[name] = (...args) => apply(queries().spatial[name], undefined, args);
  }
  collection.spatial = freeze(spatial);
  freeze(collection);

  // A request or response: named values, each readable, writable or neither.
  function newMessage(values) {
    const message = {};
    const get = (name) => {
      const slot = values[name];
      if (slot === undefined) return undefined;
      if (slot.isSet) return slot.value;
      return slot.json === undefined ? undefined : parse(slot.json);
    };
    // Wire: what was set is read when the script ends, so that changes made to it later count too.
    const set = (name, value) => {
      const slot = values[name];
      if (slot === undefined) throw refusal(400, `Cannot set new values: ${name}`);
      if (!slot.isWritable) throw refusal(403, `Not a writable property: ${name}`);
      const most = native.bodyMax();
      const json = typeof value === 'string' && value.length > most ? value : stringify(value);
      if (json !== undefined && json.length > most) {
        throw refusal(413, 'The script response is too large.');
      }
      slot.json = json;
      slot.value = value;
      slot.isSet = true;
    };
    const append = (name, value) => {
      const before = get(name);
      set(name, before === undefined ? value : '' + before + value);
    };
    message.getValue = (name) => get(`${name}`);
    message.setValue = (name, value) => set(`${name}`, value);
    message.appendValue = (name, value) => append(`${name}`, value);
    for (const name in values) {
      message[`get${name}`] = () => get(name);
      message[`set${name}`] = (value) => set(name, value);
      message[`append${name}`] = (value) => append(name, value);
    }
    return message;
  }

  const newSlot = (isWritable) => ({ __proto__: null, json: undefined, value: undefined, isSet: false, isWritable });

  function fill(slot, json) {
    slot.json = json;
    slot.value = undefined;
    slot.isSet = false;
  }

  // The text of what a slot holds now. What cannot be changed has had its text since it was set.
  function textIn(slot) {
    const { value } = slot;
    return slot.isSet && typeof value === 'object' && value !== null ? stringify(value) : slot.json;
  }

  function newResponse(values) {
    const message = newMessage(values);
    message.getResourceQuotaCurrentUsage = () => native.usage()[2];
    message.getMaxResourceQuota = () => native.usage()[3];
    return message;
  }

  // Many scripts look at one message, some at none: each is made when it is asked for.
  function lazily(make) {
    let made;
    return () => made ??= freeze(make());
  }

  function reading(target, name, get) {
    defineProperty(target, name, { __proto__: null, get, enumerable: true, configurable: false });
  }

  const appendNowhere = () => {
    throw refusal(400, 'A query without a callback needs a response, and there is none here.');
  };

  // What scripts of one role see: made by the first run, and given its values by every run.
  function newPart(role) {
    const request = { __proto__: null, Body: newSlot(role === PRE) };
    if (role !== PROCEDURE) request.OperationType = newSlot(false);
    const context = {};
    const alias = create(collection);
    const made = { __proto__: null, context, alias, request, response: undefined, append: appendNowhere };
    context.getCollection = () => alias;
    context.getRequest = lazily(() => newMessage(request));
    context.abort = (error) => { native.abort(globals.describe(error)); throw error; };
    reading(alias, 'request', context.getRequest);
    if (role !== PRE) {
      const response = { __proto__: null, Body: newSlot(true) };
      const getResponse = lazily(() => newResponse(response));
      made.response = response;
      made.append = (feed) => getResponse().appendBody(stringify(feed));
      context.getResponse = getResponse;
      reading(alias, 'response', getResponse);
    }
    freeze(context);
    freeze(alias);
    return made;
  }

  const parts = [undefined, undefined, undefined];
  let part;
  let takesWhatItNames = false;

  fixed(globalThis, 'getContext', () => part?.context);
  defineProperty(globalThis, '__', {
    __proto__: null, get: () => part?.alias, enumerable: true, configurable: false,
  });

  // Gives the run its request and response, and calls the script. `isPlain` says that no function of the script
  // sees more arguments than it names.
  function start(main, role, isPlain, requestJson, operationName, responseJson) {
    head = tail = undefined;
    takesWhatItNames = isPlain;
    part = parts[role] ??= newPart(role);
    fill(part.request.Body, requestJson);
    if (role !== PROCEDURE) fill(part.request.OperationType, stringify(operationName));
    if (role !== PRE) fill(part.response.Body, responseJson);
    if (role !== PROCEDURE || requestJson === undefined) main();
    // Wire: nothing and objects without a length are no arguments, those with one are read like an array.
    else apply(main, undefined, parse(requestJson) ?? []);
    return head !== undefined;
  }

  // The JSON text of what the run leaves behind: the item to write, or the answer.
  function finish(role) {
    const slot = role === PRE ? part.request.Body : part.response.Body;
    if (role === PRE && slot.isSet && typeof slot.value === 'string') return slot.value;
    return textIn(slot);
  }

  // Makes the engine fit for several runs; `reset` ends each of them.
  let isOpen;
  function lock(lockLanguage) {
    const exposed = [collection, sizes];
    for (let role = 0; role < parts.length; role++) {
      const { context, alias } = parts[role] ??= newPart(role);
      exposed.push(context, alias, context.getRequest());
      if (role !== PRE) exposed.push(context.getResponse());
    }
    const locked = lockLanguage(exposed);
    isOpen = locked.isOpen;
    return locked.sweep;
  }

  // Forgets the run. False if the engine cannot be made as it was; what was added to the global is not looked at.
  function reset() {
    if (part !== undefined) {
      fill(part.request.Body, undefined);
      if (part.response !== undefined) fill(part.response.Body, undefined);
    }
    head = tail = part = undefined;
    return isOpen();
  }

  const { compile, describe } = globals;
  return { __proto__: null, compile, describe, start, step, finish, lock, reset };
}
