// Calls of the .NET SDK in gateway and in direct mode, above all those that other programs were seen to fail at.
// Each is a claim: `ok NAME` or `not ok NAME`, and the process ends with the number of failures.
var claims = new (string Name, Func<World, Task> Check)[]
{
    ("items live by key and id, with quota and session", Items.Life),
    ("ids may have a slash, and then no name", Items.Slashes),
    ("a replace of what is missing is 404 before its body counts", Items.ReplaceOfNothing),
    ("every order is resumed page by page without a loss", Orders.ResumedPageByPage),
    ("a plain query is resumed page by page across ranges", Orders.PlainQueriesAcrossRanges),
    ("each page names one range and one session token", Pages.OneRangeEach),
    ("a feed range is read to its end and resumed", Pages.FeedRanges),
    ("a query of one partition asks for no plan", Pages.NoPlanForOneRange),
    ("a query without FROM has one row", Queries.WithoutFrom),
    ("numbers that are computed have the text of the service", Queries.NumberTexts),
    ("literals may hold control characters", Queries.ControlCharacters),
    ("aggregates, groups and distinct values across ranges", Queries.Merged),
    ("a rank without a limit has all rows", Queries.RankOfAll),
    ("a batch is all or nothing, and too large an answer is 413", Batches.AllOrNothing),
    ("a read in a batch has a condition", Batches.ConditionsOfReads),
    ("bulk writes and reads", Batches.Bulk),
    ("a change feed by ranges and by time", Changes.Iterator),
    ("a processor sees each change once, at positions that are numbers", Changes.Processor),
    ("two workers share the leases", Changes.TwoWorkers),
    ("anonymous functions may end with a semicolon", Scripts.AnonymousFunction),
    ("what a trigger set is read when it ends", Scripts.SetBodyByReference),
    ("a trigger before a delete has the item", Scripts.TriggerBeforeDelete),
};

var failures = 0;
foreach (var (name, check) in claims)
{
    await using var world = await World.Create();
    try
    {
        await check(world);
        Console.WriteLine($"ok {name}");
    }
    catch (Exception problem)
    {
        failures++;
        Console.WriteLine($"not ok {name}");
        Console.WriteLine(problem);
    }
}
return failures;
