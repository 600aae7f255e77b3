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
    ("LINQ filters", Linq.Filters),
    ("LINQ projections and joins", Linq.Shapes),
    ("LINQ orders, Skip and Take", Linq.OrdersAndParts),
    ("LINQ aggregates", Linq.Aggregates),
    ("LINQ in one partition, blocking", Linq.OnePartition),
    ("patches of every kind", Patches.EveryKind),
    ("patches with conditions", Patches.Conditions),
    ("patches in a batch", Patches.InABatch),
    ("hierarchical keys and their prefixes", Keys.Prefixes),
    ("many items are read at once", Keys.ReadMany),
    ("keys of every type are different keys", Keys.EveryType),
    ("all items of a key are deleted", Keys.DeleteByKey),
    ("unique keys are unique in their partition", Containers.UniqueKeys),
    ("items end with their time to live", Containers.TimeToLive),
    ("indexing policies and throughput", Containers.PoliciesAndOffers),
    ("databases and containers in feeds and queries", Containers.Names),
    ("a container made anew is not the old one", Containers.MadeAnew),
    ("users and permissions", Access.Users),
    ("resource tokens open what they name", Access.ResourceTokens),
    ("a read-only key reads", Access.ReadOnlyKey),
    ("a wrong key is refused", Access.WrongKey),
    ("etags guard reads and writes", Conditions.Etags),
    ("no update is lost", Conditions.NoLostUpdate),
    ("a session goes on in another client", Conditions.Sessions),
    ("conflict feeds are empty", Conditions.ConflictFeeds),
    ("streams live by key and id", Streams.Life),
    ("streams are refused with a status", Streams.Refusals),
    ("large items come back whole", Streams.LargeItems),
    ("bulk of thousands, with refusals of some", Batches.BulkOfMany),
    ("functions in queries", Scripts.Functions),
    ("procedures write all or nothing, and log", Scripts.Procedures),
    ("a trigger after a write", Scripts.PostTrigger),
    ("addresses are asked for once, and nothing waits for replicas", Traffic.OneAddressCallForEachRange),
};

// These take half a minute each.
var growth = new (string Name, Func<World, Task> Check)[]
{
    ("nothing is lost, doubled or out of order while ranges split and merge", Growth.NothingIsLost),
    ("bulk and a processor while ranges split and merge", Growth.BulkAndProcessor),
};

// For a server that enforces throughput, in the place of all others.
var throttling = new (string Name, Func<World, Task> Check)[]
{
    ("a burst completes at the provisioned rate", Throttling.Burst),
    ("without retries a refusal says when to come again", Throttling.WithoutRetries),
};

// What direct mode's client makes of failures; the later ones have a server of their own each.
var faults = new (string Name, Func<World, Task> Check)[]
{
    ("what passes is tried again", Failures.Passing),
    ("what stays is handed over at once", Failures.Staying),
    ("a client outlives its server", Faults.Restart),
    ("cut connections are opened again", Faults.CutConnections),
    ("a short silence is only slow", Faults.ShortSilence),
    ("a long silence ends writes with 408, and reads go on", Faults.LongSilence),
    ("a certificate that nobody trusts is refused", Faults.WrongCertificate),
};

if (World.Binary != "" && World.IsDirect) claims = claims.Concat(faults).ToArray();
if (World.HasGrowth) claims = claims.Concat(growth).ToArray();
if (World.IsThrottled) claims = throttling;
// Arguments are words of the claims to run.
claims = claims.Where(it => args.Length == 0 || args.Any(it.Name.Contains)).ToArray();

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
