using System.Collections.Concurrent;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

/// The container goes from its first ranges to 16 and back to 2 while everything goes on.
static class Growth
{
    /// Between two steps of growth: time for every worker to meet the new ranges with the old ones in its cache.
    static readonly TimeSpan Rest = TimeSpan.FromSeconds(1);

    static async Task Move(GrowthRanges ranges, Func<bool> isOver, Action merges, List<int> steps)
    {
        await Task.Delay(Rest);
        while (!isOver() && (await ranges.Ids()).Count != GrowthRanges.Max)
        {
            await ranges.Grow();
            steps.Add((await ranges.Ids()).Count);
            await Task.Delay(Rest);
        }
        merges();
        while (!isOver() && (await ranges.Ids()).Count != GrowthRanges.Min)
        {
            await ranges.Shrink();
            steps.Add((await ranges.Ids()).Count);
            await Task.Delay(Rest);
        }
    }

    public static async Task NothingIsLost(World world)
    {
        await using var second = await World.Create();
        var container = await world.Container();
        var work = new GrowthWork(container, second.Client.GetContainer(world.Database.Id, container.Id));
        var ranges = new GrowthRanges(world.Database.Id, container.Id);
        await work.Fill();
        var steps = new List<int>();
        async Task Ranges()
        {
            await Move(ranges, () => work.IsOver, () => work.IsMerging = true, steps);
            work.IsOver = true;
        }
        var workers = new Func<Task>[]
        {
            Ranges, () => work.Write(0), () => work.Write(1), () => work.Write(2), () => work.Write(3), () => work.Read(true),
            () => work.Read(false), work.QueryInOrder, work.QueryOneKey, work.Follow,
        };
        await Task.WhenAll(workers.Select(worker => Task.Run(async () =>
        {
            try
            {
                await worker();
            }
            catch
            {
                work.IsOver = true; // The first failure ends the others.
                throw;
            }
        })));
        await work.Check();
        Console.WriteLine($"ranges {string.Join(",", steps)}, writes {work.Written}, reads {work.Reads}, pages {work.Pages}, changes {work.Changes}");
        Claim.That(steps.Contains(GrowthRanges.Max) && steps.Last() == GrowthRanges.Min, string.Join(",", steps));
        Claim.That(work.Written > 100 && work.Reads > 0 && work.Pages > 0 && work.Changes > 0, "an idle worker");
    }

    /// Bulk writes and a change feed processor, which keeps a lease for each range, while ranges split and merge.
    public static async Task BulkAndProcessor(World world)
    {
        await using var bulk = await World.Create(bulk: true);
        var feed = await bulk.Container();
        var leases = await bulk.Container("leases", path: "/id");
        var seen = new ConcurrentDictionary<string, int>();
        var processor = feed.GetChangeFeedProcessorBuilder<JObject>("p", (changes, _) =>
            {
                foreach (var change in changes) seen.AddOrUpdate((string)change["id"], 1, (_, n) => n + 1);
                return Task.CompletedTask;
            })
            .WithInstanceName("one").WithLeaseContainer(leases).WithStartTime(DateTime.MinValue.ToUniversalTime())
            .WithPollInterval(TimeSpan.FromMilliseconds(200))
            .WithLeaseConfiguration(TimeSpan.FromSeconds(1), TimeSpan.FromSeconds(6), TimeSpan.FromSeconds(1)).Build();
        await processor.StartAsync();
        var moving = Move(new GrowthRanges(bulk.Database.Id, feed.Id), () => false, () => { }, new List<int>());
        var n = 0;
        while (!moving.IsCompleted)
        {
            await Task.WhenAll(Enumerable.Range(n, 200).Select(i => feed.CreateItemAsync(Claim.Item("i" + i, "k" + i % 50))));
            n += 200;
            await Task.Delay(200);
        }
        await moving;
        Claim.Same(n, (await Claim.All<int>(feed, "SELECT VALUE COUNT(1) FROM c")).Single(), "items");
        await Claim.Until($"the processor saw {seen.Count} of {n}", () => seen.Count == n);
        await processor.StopAsync();
        Console.WriteLine($"{n} items, {seen.Count(it => it.Value > 1)} seen more than once");
    }
}
