// Deletes what a query finds, at most `most` items; says whether there may be more.
function bulkDelete(query, most) {
  const collection = getContext().getCollection();
  const link = collection.getSelfLink();
  const limit = most || Infinity;
  let deleted = 0;

  const answer = (more) => getContext().getResponse().setBody({ deleted, more });

  function find(continuation) {
    const isAccepted = collection.queryDocuments(link, query, { continuation }, (error, items, info) => {
      if (error) throw error;
      if (items.length > 0) remove(items, 0);
      else if (info.continuation) find(info.continuation);
      else answer(false);
    });
    if (!isAccepted) answer(true);
  }

  function remove(items, at) {
    if (deleted >= limit) return answer(true);
    // What is deleted is found no more, so the query starts over instead of going on.
    if (at === items.length) return find();
    const isAccepted = collection.deleteDocument(items[at]._self, {}, (error) => {
      if (error) throw error;
      deleted++;
      remove(items, at + 1);
    });
    if (!isAccepted) answer(true);
  }
  find();
}
