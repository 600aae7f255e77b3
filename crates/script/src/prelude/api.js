// The server-side API of stored procedures and triggers: context, request, response, collection.
//
// Operations take effect when they are called, in order; callbacks run later, one at a time, from the
// queue here. So a callback that starts the next operation never deepens the stack.

import { apply, fixed, install as installGlobals, own, parse, refusal, stringify } from 'globals';

const { assign, create, defineProperty, freeze } = Object;
const isSafeInteger = Number.isSafeInteger;

const PAGE_SIZE = 100;

// `installQuery` comes with scripts that mention the query API: it is a third of the prelude.
export function install(native, installQuery) {
  const globals = installGlobals(native);
  let head;
  let tail;
  let context;
  let alias;

  function enqueue(callback, err, value, info) {
    const entry = { __proto__: null, callback, err, value, info, next: undefined };
    if (tail === undefined) head = entry;
    else tail.next = entry;
    tail = entry;
  }

  // Runs the oldest callback; says whether there was one.
  function step() {
    const entry = head;
    if (entry === undefined) return false;
    head = entry.next;
    if (head === undefined) tail = undefined;
    const { callback, err, value, info } = entry;
    callback(err, value, info);
    return true;
  }

  const sizes = freeze({
    get currentCollectionSizeInMB() { return native.usage()[0]; },
    get maxCollectionSizeInMB() { return native.usage()[1]; },
  });

  function newInfo(facts) {
    const info = create(sizes);
    for (const name in facts) if (facts[name] !== undefined) own(info, name, facts[name], true);
    return info;
  }

  // Passes an outcome on: `false` was not accepted, [0, value, extra] succeeded, [number, text] failed.
  function settle(outcome, callback, show) {
    if (outcome === false) return false;
    if (outcome[0] !== 0) {
      const error = refusal(outcome[0], outcome[1]);
      if (callback === undefined) throw error;
      enqueue(callback, error, undefined, newInfo({ statusCode: outcome[0] }));
      return true;
    }
    if (callback !== undefined) show(callback, outcome);
    return true;
  }

  function settleItem(outcome, callback) {
    return settle(outcome, callback, (then, [, item]) => enqueue(then, undefined, item, newInfo({})));
  }

  function settleFeed(outcome, callback) {
    return settle(outcome, callback, (then, [, items, continuation]) =>
      enqueue(then, undefined, items, newInfo({ continuation })));
  }

  // Options may be left out; the callback then stands in their place.
  function trailing(name, args, at) {
    let options = args[at];
    let callback = args[at + 1];
    if (typeof options === 'function') {
      callback = options;
      options = undefined;
    }
    if (options === undefined || options === null) options = {};
    if (typeof options !== 'object') {
      throw refusal(400, `The options of the function "${name}" must be an object.`);
    }
    if (callback === undefined || callback === null) callback = undefined;
    else if (typeof callback !== 'function') {
      throw refusal(400, `The callback of the function "${name}" must be a function.`);
    }
    return [options, callback];
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

  // The JSON text of an item that a script passed as an object or as text.
  function encoded(item, options, makesId) {
    checkIndexAction(options);
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
    return stringify(item);
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
      checkArity(name, args, least);
      const [options, callback] = trailing(name, args, least);
      return run(args, options, callback);
    };
  }

  collection.getSelfLink = () => native.selfLink();
  collection.getAltLink = () => native.altLink();

  operation('readDocument', 1, ([link], options, callback) =>
    settle(native.read(`${link}`, text(options.ifNoneMatch, 'ifNoneMatch')), callback,
      (then, [, item, notModified]) => enqueue(then, undefined, item, newInfo({ notModified }))));
  operation('readDocuments', 1, ([link], options, callback) =>
    settleFeed(native.feed(`${link}`, pageSize(options),
      text(options.continuation, 'continuation')), callback));
  operation('queryDocuments', 2, ([link, query], options, callback) => {
    if (typeof query === 'function') return queries().filter(query, options, callback).isAccepted;
    const [sql, parameters] = newQuery(query);
    return settleFeed(native.query(`${link}`, sql, parameters, pageSize(options),
      text(options.continuation, 'continuation')), callback);
  });
  operation('createDocument', 2, ([link, item], options, callback) =>
    settleItem(native.create(`${link}`, encoded(item, options, true)), callback));
  operation('upsertDocument', 2, ([link, item], options, callback) =>
    settleItem(native.upsert(`${link}`, encoded(item, options, true), text(options.etag, 'etag')),
      callback));
  operation('replaceDocument', 2, ([link, item], options, callback) =>
    settleItem(native.replace(`${link}`, encoded(item, options, false), text(options.etag, 'etag')),
      callback));
  operation('deleteDocument', 1, ([link], options, callback) =>
    settle(native.remove(`${link}`, text(options.etag, 'etag')), callback,
      (then) => enqueue(then, undefined, {}, newInfo({}))));

  // Wire: attachments are gone from the service; the calls remain and fail.
  function attachment(name, least) {
    operation(name, least, (args, options, callback) =>
      settle([400, `The function "${name}" is not supported: attachments have been retired.`], callback));
  }
  attachment('readAttachment', 1);
  attachment('readAttachments', 1);
  attachment('queryAttachments', 2);
  attachment('createAttachment', 2);
  attachment('upsertAttachment', 2);
  attachment('replaceAttachment', 2);
  attachment('deleteAttachment', 1);

  // The query API is built when a script first uses it.
  let built;
  function queries() {
    if (installQuery === undefined) throw refusal(400, 'The query API must be called by its plain names.');
    return built ??= installQuery({
      native, collection, enqueue, newInfo, checkArity, trailing, pageSize, text,
      append: (feed) => appendFeed(feed),
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
  function newMessage(values, headers) {
    const message = {};
    const find = (name) => {
      const value = values[name];
      if (value !== undefined) return value;
      if (headers[name] !== undefined) return { json: stringify(headers[name]), isWritable: false };
      return undefined;
    };
    const get = (name) => {
      const json = find(name)?.json;
      return json === undefined ? undefined : parse(json);
    };
    const set = (name, value) => {
      const slot = find(name);
      if (slot === undefined) throw refusal(400, `Cannot set new values: ${name}`);
      if (!slot.isWritable) throw refusal(403, `Not a writable property: ${name}`);
      const most = native.bodyMax();
      const json = typeof value === 'string' && value.length > most ? value : stringify(value);
      if (json !== undefined && json.length > most) {
        throw refusal(413, 'The script response is too large.');
      }
      slot.json = json;
    };
    const append = (name, value) => {
      const before = get(name);
      set(name, before === undefined ? value : before + value);
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

  function newResponse(values) {
    const message = newMessage(values, {});
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

  let request;
  let response;
  const appendNowhere = () => {
    throw refusal(400, 'A query without a callback needs a response, and there is none here.');
  };
  let appendFeed;

  fixed(globalThis, 'getContext', () => context);
  defineProperty(globalThis, '__', {
    __proto__: null, get: () => alias, enumerable: true, configurable: false,
  });

  // Gives the run its request and response, and calls the script.
  function start(main, role, { operation: name, requestJson, responseJson, argumentsJson, headers }) {
    head = tail = response = undefined;
    appendFeed = appendNowhere;
    request = { __proto__: null };
    request.Body = { json: requestJson, isWritable: role === 'pre' };
    if (name !== undefined) request.OperationType = { json: stringify(name), isWritable: false };
    context = {};
    alias = create(collection);
    const shown = alias;
    context.getCollection = () => shown;
    context.getRequest = lazily(() => newMessage(request, headers ?? {}));
    context.abort = (error) => { native.abort(globals.describe(error)); throw error; };
    reading(alias, 'request', context.getRequest);
    if (role !== 'pre') {
      response = { __proto__: null, Body: { json: responseJson, isWritable: true } };
      const getResponse = lazily(() => newResponse(response));
      context.getResponse = getResponse;
      reading(alias, 'response', getResponse);
      appendFeed = (feed) => getResponse().appendBody(stringify(feed));
    }
    freeze(context);
    freeze(alias);
    const args = argumentsJson === undefined ? [] : parse(argumentsJson);
    apply(main, undefined, args);
  }

  // The JSON text of what the run leaves behind: the item to write, or the answer.
  function finish(role) {
    const json = role === 'pre' ? request.Body.json : response.Body.json;
    if (role !== 'pre' || json === undefined) return json;
    const item = parse(json);
    return typeof item === 'string' ? item : json;
  }

  // Makes the engine fit for several runs; `reset` ends each of them.
  let takeAway;
  function lock(lockLanguage) {
    takeAway = lockLanguage([collection, sizes]);
  }

  // Forgets the run. False if the engine is not as it was before.
  function reset() {
    head = tail = request = response = context = alias = undefined;
    return takeAway();
  }

  const { compile, describe } = globals;
  return { __proto__: null, compile, describe, start, step, finish, lock, reset };
}
