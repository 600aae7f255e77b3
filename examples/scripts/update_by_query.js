// Sets properties on every item that a query finds, unless somebody changed the item meanwhile.
async function updateByQuery(query, changes, continuation) {
  const collection = getContext().getCollection();
  const link = collection.getSelfLink();
  let updated = 0;

  // Wraps one call: resolves with its result, or with undefined when it was not accepted.
  const call = (start) => new Promise((resolve, reject) => {
    const done = (error, value, info) => (error ? reject(error) : resolve({ value, info }));
    if (!start(done)) resolve(undefined);
  });

  async function run() {
    for (;;) {
      const page = await call((done) => collection.queryDocuments(link, query, { continuation }, done));
      if (page === undefined) return;
      for (const item of page.value) {
        const changed = { ...item, ...changes };
        const options = { etag: item._etag };
        if (!(await call((done) => collection.replaceDocument(item._self, changed, options, done)))) return;
        updated++;
      }
      continuation = page.info.continuation;
      if (!continuation) return;
    }
  }

  await run();
  getContext().getResponse().setBody({ updated, continuation: continuation || null });
}
