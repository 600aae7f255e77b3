using System.Net;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

static class Keys
{
    static async Task<Container> Hierarchical(World world)
    {
        var paths = new List<string> { "/tenant", "/user", "/session" };
        Container container = await world.Database.CreateContainerAsync(new ContainerProperties("h", paths), 25000);
        var writes = Enumerable.Range(0, 60).Select(n => container.CreateItemAsync(
            new JObject { ["id"] = "i" + n, ["tenant"] = "t" + n % 3, ["user"] = "u" + n % 6, ["session"] = n % 12 }));
        await Task.WhenAll(writes);
        return container;
    }

    static async Task<int> Count(Container container, PartitionKey key)
    {
        var options = new QueryRequestOptions { PartitionKey = key };
        return (await Claim.All<JObject>(container, "SELECT * FROM c", options)).Count;
    }

    public static async Task Prefixes(World world)
    {
        var container = await Hierarchical(world);
        var whole = new PartitionKeyBuilder().Add("t1").Add("u1").Add(1).Build();
        Claim.Same("i1", (await container.ReadItemAsync<JObject>("i1", whole)).Resource["id"].ToString(), "a whole key");
        Claim.Same(5, await Count(container, whole), "of a whole key");
        Claim.Same(10, await Count(container, new PartitionKeyBuilder().Add("t1").Add("u4").Build()), "of two levels");
        Claim.Same(20, await Count(container, new PartitionKeyBuilder().Add("t1").Build()), "of one level");
        Claim.Same(0, await Count(container, new PartitionKeyBuilder().Add("t9").Build()), "of none");
        var prefix = new PartitionKeyBuilder().Add("t1").Build();
        await Claim.Fails(HttpStatusCode.BadRequest, () => container.ReadItemAsync<JObject>("i1", prefix));
        var options = new QueryRequestOptions { PartitionKey = prefix, MaxItemCount = 3 };
        var sorted = await Claim.All<string>(container, "SELECT VALUE c.id FROM c ORDER BY c.id", options);
        Claim.That(sorted.Count == 20 && sorted.SequenceEqual(sorted.Order(StringComparer.Ordinal)), "a prefix in order");
        using var batch = await container.CreateTransactionalBatch(whole).ReadItem("i1").ReadItem("i13").ExecuteAsync();
        Claim.That(batch.IsSuccessStatusCode, "a batch of a whole key");
    }

    public static async Task ReadMany(World world)
    {
        var container = await world.Container(units: 25000);
        var keys = Enumerable.Range(0, 150).Select(n => ("i" + n, new PartitionKey("k" + n % 20))).ToList();
        await Task.WhenAll(Enumerable.Range(0, 150).Select(n => container.CreateItemAsync(Claim.Item("i" + n, "k" + n % 20))));
        keys.Add(("missing", new PartitionKey("k1")));
        var many = await container.ReadManyItemsAsync<JObject>(keys);
        Claim.Same(150, many.Select(it => (string)it["id"]).Distinct().Count(), "all that exist");
        Claim.That(many.RequestCharge > 0, "a charge");
        var one = await container.ReadManyItemsAsync<JObject>(keys.Take(1).ToList());
        Claim.Same("i0", (string)one.Single()["id"], "one of them");
        var hierarchical = await Hierarchical(world);
        var deep = Enumerable.Range(0, 12)
            .Select(n => ("i" + n, new PartitionKeyBuilder().Add("t" + n % 3).Add("u" + n % 6).Add(n).Build())).ToList();
        Claim.Same(12, (await hierarchical.ReadManyItemsAsync<JObject>(deep)).Count, "of hierarchical keys");
    }

    /// Keys of every type are different keys.
    public static async Task EveryType(World world)
    {
        var container = await world.Container(units: 25000);
        var keys = new (PartitionKey Key, JToken Value)[]
        {
            (new PartitionKey("1"), "1"), (new PartitionKey(1), 1), (new PartitionKey(-1.5), -1.5), (new PartitionKey(true), true),
            (new PartitionKey(false), false), (PartitionKey.Null, JValue.CreateNull()), (PartitionKey.None, null), (new PartitionKey(""), ""),
        };
        foreach (var (key, value) in keys)
        {
            var item = new JObject { ["id"] = "same" };
            if (value != null) item["pk"] = value;
            await container.CreateItemAsync(item, key);
        }
        foreach (var (key, value) in keys)
        {
            var read = await container.ReadItemAsync<JObject>("same", key);
            Claim.That(JToken.DeepEquals(read.Resource["pk"], value) || value == null && read.Resource["pk"] == null, key.ToString());
            Claim.Same(1, await Count(container, key), "items of " + key);
        }
        Claim.Same(keys.Length, (await Claim.All<JObject>(container, "SELECT * FROM c")).Count, "all");
    }

    public static async Task DeleteByKey(World world)
    {
        var container = await world.Container(units: 25000);
        await Task.WhenAll(Enumerable.Range(0, 40).Select(n => container.CreateItemAsync(Claim.Item("i" + n, "k" + n % 4))));
        using var answer = await container.DeleteAllItemsByPartitionKeyStreamAsync(new PartitionKey("k1"));
        Claim.That(answer.IsSuccessStatusCode, answer.ErrorMessage);
        for (var n = 0; n < 100 && await Count(container, new PartitionKey("k1")) > 0; n++)
        {
            await Task.Delay(100);
        }
        Claim.Same(0, await Count(container, new PartitionKey("k1")), "of the key");
        Claim.Same(30, (await Claim.All<JObject>(container, "SELECT * FROM c")).Count, "of the others");
    }
}
