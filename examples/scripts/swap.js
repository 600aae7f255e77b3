// Swaps one property of two items: both change or neither does.
function swap(firstId, secondId, property) {
  const collection = getContext().getCollection();
  const docs = collection.getAltLink() + '/docs/';

  collection.readDocument(docs + firstId, (error, first) => {
    if (error) throw error;
    collection.readDocument(docs + secondId, (error, second) => {
      if (error) throw error;
      const kept = first[property];
      first[property] = second[property];
      second[property] = kept;
      replace(first, () => replace(second, () => {
        getContext().getResponse().setBody([first, second]);
      }));
    });
  });

  function replace(item, then) {
    // Wire: a condition on the etag fails with 412 when somebody else was faster.
    const isAccepted = collection.replaceDocument(item._self, item, { etag: item._etag }, (error) => {
      if (error) throw error;
      then();
    });
    if (!isAccepted) throw new Error('not accepted: nothing is swapped');
  }
}
