// Writes items one after another; answers how many were written before the server wanted no more.
function bulkImport(items, overwrite) {
  const collection = getContext().getCollection();
  const response = getContext().getResponse();
  const link = collection.getSelfLink();
  if (!Array.isArray(items)) throw new Error(ErrorCodes.BadRequest, 'the first argument must be an array');
  let written = 0;

  function next() {
    if (written === items.length) return response.setBody(written);
    const write = overwrite ? collection.upsertDocument : collection.createDocument;
    const isAccepted = write(link, items[written], {}, (error) => {
      if (error) throw error;
      written++;
      next();
    });
    // Near the end of the time or the size of a transaction: keep what is done and say how far it went.
    if (!isAccepted) response.setBody(written);
  }
  next();
}
