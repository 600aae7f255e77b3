using System.Net;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

static class Conditions
{
    static readonly PartitionKey Key = new("a");

    public static async Task Etags(World world)
    {
        var container = await world.Container();
        var first = await container.CreateItemAsync(Claim.Item("1", "a", new { n = 1 }), Key);
        var same = new ItemRequestOptions { IfNoneMatchEtag = first.ETag };
        await Claim.Fails(HttpStatusCode.NotModified, () => container.ReadItemAsync<JObject>("1", Key, same));
        var match = new ItemRequestOptions { IfMatchEtag = first.ETag };
        var second = await container.ReplaceItemAsync(Claim.Item("1", "a", new { n = 2 }), "1", Key, match);
        Claim.That(second.ETag != first.ETag, "a new etag");
        await Claim.Fails(HttpStatusCode.PreconditionFailed, () => container.UpsertItemAsync(Claim.Item("1", "a"), Key, match));
        await Claim.Fails(HttpStatusCode.PreconditionFailed, () => container.DeleteItemAsync<JObject>("1", Key, match));
        Claim.Same(2, (int)(await container.ReadItemAsync<JObject>("1", Key, same)).Resource["n"], "what changed is read");
    }

    /// Of many that replace what they read, each loses or counts: no update is lost.
    public static async Task NoLostUpdate(World world)
    {
        var container = await world.Container(units: 25000);
        await container.CreateItemAsync(Claim.Item("1", "a", new { n = 0 }), Key);
        var refused = 0;
        async Task Add()
        {
            for (var n = 0; n < 5;)
            {
                var read = await container.ReadItemAsync<JObject>("1", Key);
                var next = Claim.Item("1", "a", new { n = (int)read.Resource["n"] + 1 });
                var match = new ItemRequestOptions { IfMatchEtag = read.ETag };
                using var body = new MemoryStream(System.Text.Encoding.UTF8.GetBytes(next.ToString()));
                using var answer = await container.ReplaceItemStreamAsync(body, "1", Key, match);
                if (answer.IsSuccessStatusCode) n++;
                else if (answer.StatusCode == HttpStatusCode.PreconditionFailed) Interlocked.Increment(ref refused);
                else answer.EnsureSuccessStatusCode();
            }
        }
        await Task.WhenAll(Enumerable.Range(0, 8).Select(_ => Add()));
        Claim.Same(40, (int)(await container.ReadItemAsync<JObject>("1", Key)).Resource["n"], $"the count, {refused} refused");
    }

    public static async Task Sessions(World world)
    {
        var container = await world.Container(units: 25000);
        var made = await container.CreateItemAsync(Claim.Item("1", "a"), Key);
        await using var other = await World.Create();
        var theirs = other.Client.GetContainer(world.Database.Id, "c");
        var options = new ItemRequestOptions { SessionToken = made.Headers.Session };
        await theirs.ReadItemAsync<JObject>("1", Key, options);
        if (World.Level != ConsistencyLevel.Eventual && World.Level != ConsistencyLevel.ConsistentPrefix)
        {
            var weak = new ItemRequestOptions { ConsistencyLevel = ConsistencyLevel.Eventual };
            await theirs.ReadItemAsync<JObject>("1", Key, weak);
        }
    }

    /// One region that writes has no conflicts; their feed and query are answered all the same.
    public static async Task ConflictFeeds(World world)
    {
        var container = await world.Container(units: 25000);
        await container.CreateItemAsync(Claim.Item("1", "a"), Key);
        using var feed = container.Conflicts.GetConflictQueryIterator<ConflictProperties>();
        var n = 0;
        while (feed.HasMoreResults) n += (await feed.ReadNextAsync()).Count;
        using var query = container.Conflicts.GetConflictQueryIterator<ConflictProperties>("SELECT * FROM c");
        while (query.HasMoreResults) n += (await query.ReadNextAsync()).Count;
        Claim.Same(0, n, "conflicts");
    }
}
