// Adds up one property over the logical partition, with the JavaScript query API.
function sum(property, filterBy, filterValue) {
  const result = { count: 0, sum: 0, min: null, max: null };

  function page(continuation) {
    const rows = __.chain()
      .filter((item) => filterBy === undefined || item[filterBy] === filterValue)
      .pluck(property)
      .value({ continuation, pageSize: 500 }, (error, values, info) => {
        if (error) throw error;
        for (const value of values) add(value);
        if (info.continuation) page(info.continuation);
        else __.response.setBody(result);
      });
    if (!rows.isAccepted) throw new Error('there is too much to add up in one run');
  }

  function add(value) {
    if (typeof value !== 'number') return;
    result.count++;
    result.sum += value;
    result.min = result.min === null ? value : Math.min(result.min, value);
    result.max = result.max === null ? value : Math.max(result.max, value);
  }
  page();
}
