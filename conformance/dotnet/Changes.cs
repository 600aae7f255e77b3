using System.Collections.Concurrent;
using System.Net;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

static class Changes
{
    static async Task Fill(Container container, string prefix, int n)
    {
        for (var i = 0; i < n; i++)
        {
            await container.CreateItemAsync(Claim.Item(prefix + i, "k" + i % 12));
        }
    }

    static async Task<(List<string> Ids, string Token)> Drain(Container container, ChangeFeedStartFrom start)
    {
        var ids = new List<string>();
        var options = new ChangeFeedRequestOptions { PageSizeHint = 7 };
        using var iterator = container.GetChangeFeedIterator<JObject>(start, ChangeFeedMode.LatestVersion, options);
        while (iterator.HasMoreResults)
        {
            var page = await iterator.ReadNextAsync();
            if (page.StatusCode == HttpStatusCode.NotModified) return (ids, page.ContinuationToken);
            ids.AddRange(page.Select(item => (string)item["id"]));
        }
        throw new InvalidOperationException("a feed does not end");
    }

    public static async Task Iterator(World world)
    {
        var container = await world.Container(units: 25000);
        await Fill(container, "a", 40);
        var (all, token) = await Drain(container, ChangeFeedStartFrom.Beginning());
        Claim.Same(40, all.Distinct().Count(), "from the beginning");
        Claim.Same(40, all.Count, "each once");
        await Fill(container, "b", 12);
        var (more, _) = await Drain(container, ChangeFeedStartFrom.ContinuationToken(token));
        Claim.That(more.Count == 12 && more.All(id => id.StartsWith('b')), "from a token: " + string.Join(",", more));
        var (past, _) = await Drain(container, ChangeFeedStartFrom.Time(DateTime.UtcNow.AddHours(-1)));
        Claim.Same(52, past.Count, "from a time");
        var (now, _) = await Drain(container, ChangeFeedStartFrom.Now());
        Claim.Same(0, now.Count, "from now");
        var (key, _) = await Drain(container, ChangeFeedStartFrom.Beginning(FeedRange.FromPartitionKey(new PartitionKey("k3"))));
        Claim.Same("a3,a15,a27,a39,b3", string.Join(",", key), "of one key, in order");
    }

    sealed class Worker
    {
        public readonly ConcurrentQueue<string> Seen = new();
        public readonly ConcurrentQueue<string> Positions = new();
        ChangeFeedProcessor processor;

        public async Task Start(string name, Container feed, Container leases)
        {
            processor = feed.GetChangeFeedProcessorBuilder<JObject>("p", Handle)
                .WithInstanceName(name).WithLeaseContainer(leases).WithStartTime(DateTime.MinValue.ToUniversalTime())
                .WithPollInterval(TimeSpan.FromMilliseconds(200)).WithMaxItems(10)
                .WithLeaseConfiguration(TimeSpan.FromSeconds(1), TimeSpan.FromSeconds(6), TimeSpan.FromSeconds(1)).Build();
            await processor.StartAsync();
        }

        public Task Stop() => processor.StopAsync();

        Task Handle(ChangeFeedProcessorContext context, IReadOnlyCollection<JObject> changes, CancellationToken token)
        {
            Positions.Enqueue(context.Headers.ContinuationToken);
            foreach (var change in changes)
            {
                Seen.Enqueue((string)change["id"]);
            }
            return Task.CompletedTask;
        }

        public async Task SawEachOnce(int n)
        {
            await Claim.Until($"only {Seen.Count} of {n}", () => Seen.Count >= n);
            await Task.Delay(1500);
            Claim.Same(n, Seen.Count, "each change once");
        }
    }

    public static async Task Processor(World world)
    {
        var feed = await world.Container(units: 25000);
        var leases = await world.Container("leases", path: "/id");
        await Fill(feed, "a", 40);
        var first = new Worker();
        await first.Start("one", feed, leases);
        await first.SawEachOnce(40);
        await first.Stop();
        // Programs take the position of a range for a number.
        Claim.That(first.Positions.All(it => long.TryParse(it.Trim('"'), out _)), string.Join(" ", first.Positions));
        await Fill(feed, "b", 9);
        var second = new Worker();
        await second.Start("one", feed, leases);
        await second.SawEachOnce(9);
        await second.Stop();
    }

    public static async Task TwoWorkers(World world)
    {
        var feed = await world.Container(units: 25000);
        var leases = await world.Container("leases", path: "/id");
        await Fill(feed, "a", 40);
        var (one, two) = (new Worker(), new Worker());
        await one.Start("one", feed, leases);
        await two.Start("two", feed, leases);
        await Claim.Until("not all seen", () => one.Seen.Concat(two.Seen).Distinct().Count() == 40);
        await one.Stop();
        await Fill(feed, "b", 24);
        await Claim.Until("not all taken over", () => two.Seen.Distinct().Count(id => id.StartsWith('b')) == 24);
        await two.Stop();
    }
}
