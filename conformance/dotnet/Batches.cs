using System.Net;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

static class Batches
{
    static readonly PartitionKey Key = new("a");

    public static async Task AllOrNothing(World world)
    {
        var container = await world.Container();
        var text = new string('x', 1 << 20);
        for (var i = 0; i < 5; i++)
        {
            await container.CreateItemAsync(Claim.Item(i.ToString(), "a", new { text }), Key);
        }
        using var failed = await container.CreateTransactionalBatch(Key)
            .CreateItem(Claim.Item("new", "a")).CreateItem(Claim.Item("1", "a")).ExecuteAsync();
        Claim.Same(HttpStatusCode.Conflict, failed.StatusCode, "a conflict");
        Claim.Same(HttpStatusCode.FailedDependency, failed[0].StatusCode, "and what depends on it");
        var reads = container.CreateTransactionalBatch(Key).CreateItem(Claim.Item("new", "a"));
        for (var i = 0; i < 5; i++)
        {
            reads.ReadItem(i.ToString());
        }
        using var large = await reads.ExecuteAsync();
        Claim.Same(HttpStatusCode.RequestEntityTooLarge, large.StatusCode, "five megabytes");
        await Claim.Fails(HttpStatusCode.NotFound, () => container.ReadItemAsync<JObject>("new", Key));
    }

    public static async Task ConditionsOfReads(World world)
    {
        var container = await world.Container();
        var created = await container.CreateItemAsync(Claim.Item("1", "a"), Key);
        var same = new TransactionalBatchItemRequestOptions { IfNoneMatchEtag = created.ETag };
        using var unchanged = await container.CreateTransactionalBatch(Key).ReadItem("1", same).ExecuteAsync();
        Claim.Same((HttpStatusCode)207, unchanged.StatusCode, "the batch");
        Claim.Same(HttpStatusCode.NotModified, unchanged[0].StatusCode, "the read");
        var match = new TransactionalBatchItemRequestOptions { IfMatchEtag = created.ETag };
        using var matched = await container.CreateTransactionalBatch(Key).ReadItem("1", match).ExecuteAsync();
        Claim.Same(HttpStatusCode.NotModified, matched[0].StatusCode, "the read by If-Match");
        var other = new TransactionalBatchItemRequestOptions { IfNoneMatchEtag = "\"other\"" };
        using var changed = await container.CreateTransactionalBatch(Key).ReadItem("1", other).ExecuteAsync();
        Claim.Same(HttpStatusCode.OK, changed[0].StatusCode, "a read of what changed");
        var future = new TransactionalBatchRequestOptions { SessionToken = "0:-1#999999" };
        if (World.MinPartitions == 1)
        {
            using var early = await container.CreateTransactionalBatch(Key).ReadItem("1").ExecuteAsync(future);
            Claim.Same(HttpStatusCode.NotFound, early.StatusCode, "a session that is ahead");
        }
    }

    public static async Task Bulk(World world)
    {
        await using var bulk = await World.Create(bulk: true);
        var container = await bulk.Container(units: 25000);
        var writes = Enumerable.Range(0, 200)
            .Select(i => container.CreateItemAsync(Claim.Item("i" + i, "k" + i % 20), new PartitionKey("k" + i % 20)));
        var created = await Task.WhenAll(writes);
        Claim.That(created.All(it => it.StatusCode == HttpStatusCode.Created), "all are created");
        var reads = Enumerable.Range(0, 200).Select(i => container.ReadItemAsync<JObject>("i" + i, new PartitionKey("k" + i % 20)));
        Claim.Same(200, (await Task.WhenAll(reads)).Select(it => (string)it.Resource["id"]).Distinct().Count(), "all are read");
    }

    /// Bulk puts what goes to one range into one request: many items, every kind of operation, and refusals of some.
    public static async Task BulkOfMany(World world)
    {
        await using var bulk = await World.Create(bulk: true);
        var container = await bulk.Container(units: 25000);
        PartitionKey KeyOf(int n) => new("k" + n % 300);
        JObject Item(int n, int version) => Claim.Item("i" + n, "k" + n % 300, new { version, note = new string('x', 300) });
        const int many = 3000;
        await Task.WhenAll(Enumerable.Range(0, many).Select(n => container.CreateItemAsync(Item(n, 1), KeyOf(n))));
        var second = Enumerable.Range(0, many).Select(async n =>
        {
            var answer = (n % 5) switch
            {
                0 => (await container.UpsertItemAsync(Item(n, 2), KeyOf(n))).StatusCode,
                1 => (await container.ReplaceItemAsync(Item(n, 2), "i" + n, KeyOf(n))).StatusCode,
                2 => (await container.PatchItemAsync<JObject>("i" + n, KeyOf(n), new[] { PatchOperation.Set("/version", 2) })).StatusCode,
                3 => (await container.DeleteItemAsync<JObject>("i" + n, KeyOf(n))).StatusCode,
                _ => (await Claim.Fails(HttpStatusCode.Conflict, () => container.CreateItemAsync(Item(n, 2), KeyOf(n)))).StatusCode,
            };
            return answer;
        });
        var statuses = (await Task.WhenAll(second)).GroupBy(it => it).ToDictionary(it => it.Key, it => it.Count());
        Claim.Same(many / 5 * 3, statuses[HttpStatusCode.OK], "written");
        Claim.Same(many / 5, statuses[HttpStatusCode.NoContent], "deleted");
        Claim.Same(many / 5, statuses[HttpStatusCode.Conflict], "refused");
        Claim.Same(many / 5 * 4, (await Claim.All<int>(container, "SELECT VALUE COUNT(1) FROM c")).Single(), "left");
        Claim.Same(many / 5 * 3, (await Claim.All<int>(container, "SELECT VALUE COUNT(1) FROM c WHERE c.version = 2")).Single(), "new");
    }
}
