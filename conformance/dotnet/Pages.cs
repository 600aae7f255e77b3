using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

static class Pages
{
    static async Task<Container> Filled(World world, int n)
    {
        var container = await world.Container(units: 25000);
        for (var i = 0; i < n; i++)
        {
            await container.CreateItemAsync(Claim.Item("i" + i, "k" + i % 12));
        }
        return container;
    }

    public static async Task OneRangeEach(World world)
    {
        var container = await Filled(world, 36);
        var n = 0;
        using var iterator = container.GetItemQueryStreamIterator();
        while (iterator.HasMoreResults)
        {
            using var page = await iterator.ReadNextAsync();
            page.EnsureSuccessStatusCode();
            Claim.That(!page.Headers.Session.Contains(','), page.Headers.Session);
            var range = page.Headers["x-ms-documentdb-partitionkeyrangeid"];
            Claim.That(page.Headers.Session.StartsWith(range + ":"), page.Headers.Session + " of range " + range);
            using var reader = new StreamReader(page.Content);
            n += ((JArray)JObject.Parse(await reader.ReadToEndAsync())["Documents"]).Count;
        }
        Claim.Same(36, n, "all items");
    }

    public static async Task FeedRanges(World world)
    {
        var container = await Filled(world, 36);
        var seen = new List<string>();
        foreach (var range in await container.GetFeedRangesAsync())
        {
            string token = null;
            do
            {
                var options = new QueryRequestOptions { MaxItemCount = 2 };
                using var iterator =
                    container.GetItemQueryIterator<string>(range, new QueryDefinition("SELECT VALUE c.id FROM c"), token, options);
                var page = await iterator.ReadNextAsync();
                seen.AddRange(page);
                token = page.ContinuationToken;
            } while (token != null);
        }
        Claim.Same(36, seen.Count, "each once");
        Claim.Same(36, seen.Distinct().Count(), "each once");
    }

    public static async Task NoPlanForOneRange(World world)
    {
        var container = await Filled(world, 36);
        var options = new QueryRequestOptions
        {
            PartitionKey = new PartitionKey("k3"),
            MaxItemCount = 1,
            EnableOptimisticDirectExecution = true,
        };
        var before = world.Seen.Plans;
        var rows = await Claim.All<string>(container, "SELECT VALUE c.id FROM c ORDER BY c.id DESC", options);
        Claim.Same("i3,i27,i15", string.Join(",", rows), "in order");
        Claim.Same(before, world.Seen.Plans, "plans asked for");
        var counted = await Claim.All<int>(container, "SELECT VALUE COUNT(1) FROM c", options);
        Claim.Same(3, counted.Single(), "a count");
    }
}
