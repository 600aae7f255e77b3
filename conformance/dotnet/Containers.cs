using System.Net;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

static class Containers
{
    static readonly PartitionKey Key = new("a");

    public static async Task UniqueKeys(World world)
    {
        var policy = new UniqueKeyPolicy();
        var unique = new UniqueKey();
        unique.Paths.Add("/mail");
        policy.UniqueKeys.Add(unique);
        Container container = await world.Database.CreateContainerAsync(new ContainerProperties("c", "/pk") { UniqueKeyPolicy = policy });
        await container.CreateItemAsync(Claim.Item("1", "a", new { mail = "x" }), Key);
        await Claim.Fails(HttpStatusCode.Conflict, () => container.CreateItemAsync(Claim.Item("2", "a", new { mail = "x" }), Key));
        await container.CreateItemAsync(Claim.Item("2", "b", new { mail = "x" }), new PartitionKey("b"));
        await container.CreateItemAsync(Claim.Item("3", "a", new { mail = "y" }), Key);
        var taken = Claim.Item("3", "a", new { mail = "x" });
        await Claim.Fails(HttpStatusCode.Conflict, () => container.ReplaceItemAsync(taken, "3", Key));
        await Claim.Fails(HttpStatusCode.Conflict, () => container.UpsertItemAsync(taken, Key));
        await container.DeleteItemAsync<JObject>("1", Key);
        await container.ReplaceItemAsync(taken, "3", Key);
    }

    public static async Task TimeToLive(World world)
    {
        var properties = new ContainerProperties("c", "/pk") { DefaultTimeToLive = 1000 };
        Container container = await world.Database.CreateContainerAsync(properties);
        await container.CreateItemAsync(Claim.Item("short", "a", new { ttl = 1 }), Key);
        await container.CreateItemAsync(Claim.Item("never", "a", new { ttl = -1 }), Key);
        await container.CreateItemAsync(Claim.Item("long", "a"), Key);
        await Task.Delay(2500);
        await Claim.Fails(HttpStatusCode.NotFound, () => container.ReadItemAsync<JObject>("short", Key));
        var left = await Claim.All<string>(container, "SELECT VALUE c.id FROM c ORDER BY c.id");
        Claim.Same("long,never", string.Join(",", left), "what is left");
        var read = (await container.ReadContainerAsync()).Resource;
        Claim.Same(1000, read.DefaultTimeToLive, "of the container");
        read.DefaultTimeToLive = null;
        Claim.Same(null, (await container.ReplaceContainerAsync(read)).Resource.DefaultTimeToLive, "switched off");
    }

    public static async Task PoliciesAndOffers(World world)
    {
        var properties = new ContainerProperties("c", "/pk");
        properties.IndexingPolicy.ExcludedPaths.Add(new ExcludedPath { Path = "/blob/*" });
        properties.IndexingPolicy.CompositeIndexes.Add(new()
        {
            new CompositePath { Path = "/a", Order = CompositePathSortOrder.Ascending },
            new CompositePath { Path = "/b", Order = CompositePathSortOrder.Descending },
        });
        var made = await world.Database.CreateContainerAsync(properties, 1000);
        Claim.That(made.Resource.SelfLink != null && made.Resource.LastModified != null, "names of its own");
        var container = made.Container;
        Claim.Same(1000, await container.ReadThroughputAsync(), "throughput");
        await container.ReplaceThroughputAsync(1200);
        Claim.Same(1200, await container.ReadThroughputAsync(), "throughput afterwards");
        await container.ReplaceThroughputAsync(ThroughputProperties.CreateAutoscaleThroughput(4000)).ContinueWith(_ => { });
        for (var n = 0; n < 12; n++)
        {
            await container.CreateItemAsync(Claim.Item("i" + n, "k", new { a = n % 3, b = n }));
        }
        var rows = await Claim.All<int>(container, "SELECT VALUE c.b FROM c ORDER BY c.a ASC, c.b DESC");
        Claim.Same("9,6,3,0,10,7,4,1,11,8,5,2", string.Join(",", rows), "by two columns");
        await Claim.Fails(HttpStatusCode.BadRequest, () => Claim.All<int>(container, "SELECT VALUE c.b FROM c ORDER BY c.b, c.a"));
        await Claim.Fails(HttpStatusCode.Conflict, () => world.Database.CreateContainerAsync(properties));
        var same = await world.Database.CreateContainerIfNotExistsAsync(properties);
        Claim.Same(HttpStatusCode.OK, same.StatusCode, "create if it does not exist");
    }

    /// Feeds and queries of databases and containers: in direct mode they go to the master range.
    public static async Task Names(World world)
    {
        for (var n = 0; n < 5; n++)
        {
            await world.Container("c" + n);
        }
        var ids = new List<string>();
        using (var containers = world.Database.GetContainerQueryIterator<ContainerProperties>(requestOptions: new() { MaxItemCount = 2 }))
        {
            while (containers.HasMoreResults) ids.AddRange((await containers.ReadNextAsync()).Select(it => it.Id));
        }
        Claim.Same("c0,c1,c2,c3,c4", string.Join(",", ids.Order()), "the feed");
        var query = new QueryDefinition("SELECT * FROM c WHERE c.id = @id").WithParameter("@id", "c3");
        using var found = world.Database.GetContainerQueryIterator<ContainerProperties>(query);
        Claim.Same("c3", (await found.ReadNextAsync()).Single().Id, "the query");
        using var databases = world.Client.GetDatabaseQueryIterator<DatabaseProperties>(
            new QueryDefinition("SELECT * FROM d WHERE d.id = @id").WithParameter("@id", world.Database.Id));
        Claim.Same(world.Database.Id, (await databases.ReadNextAsync()).Single().Id, "the database");
        Claim.That((await world.Client.ReadAccountAsync()).Consistency.DefaultConsistencyLevel == World.Level, "the account's level");
    }

    /// A container that was made anew under the same name must not be taken for the old one.
    public static async Task MadeAnew(World world)
    {
        var container = await world.Container();
        for (var n = 0; n < 20; n++)
        {
            await container.CreateItemAsync(Claim.Item("i" + n, "a"), Key);
        }
        await using (var other = await World.Create())
        {
            await other.Client.GetContainer(world.Database.Id, "c").DeleteContainerAsync();
            await other.Client.GetDatabase(world.Database.Id).CreateContainerAsync("c", "/pk");
        }
        var begin = DateTime.UtcNow;
        await Claim.Fails(HttpStatusCode.NotFound, () => container.ReadItemAsync<JObject>("i1", Key));
        await container.CreateItemAsync(Claim.Item("i1", "a", new { isNew = true }), Key);
        Claim.That((bool)(await container.ReadItemAsync<JObject>("i1", Key)).Resource["isNew"], "the new item");
        Claim.That(DateTime.UtcNow - begin < TimeSpan.FromSeconds(5), $"it took {DateTime.UtcNow - begin}");
    }
}
