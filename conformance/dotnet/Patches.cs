using System.Net;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

static class Patches
{
    static readonly PartitionKey Key = new("a");

    public static async Task EveryKind(World world)
    {
        var container = await world.Container();
        var item = Claim.Item("1", "a", new { n = 1, gone = true, list = new[] { 1, 2 }, inner = new { x = 1 }, from = "here" });
        await container.CreateItemAsync(item, Key);
        var patched = await container.PatchItemAsync<JObject>("1", Key, new[]
        {
            PatchOperation.Add("/list/-", 3),
            PatchOperation.Add("/list/0", 0),
            PatchOperation.Set("/inner/y", "new"),
            PatchOperation.Replace("/inner/x", 2),
            PatchOperation.Remove("/gone"),
            PatchOperation.Increment("/n", 1.5),
            PatchOperation.Move("/from", "/to"),
        });
        var row = patched.Resource;
        Claim.Same("[0,1,2,3]", row["list"].ToString(Formatting.None), "adds");
        Claim.Same("{\"x\":2,\"y\":\"new\"}", row["inner"].ToString(Formatting.None), "set and replace");
        Claim.Same(2.5, (double)row["n"], "increment");
        Claim.That(row["gone"] == null && row["from"] == null && (string)row["to"] == "here", "remove and move");
        Claim.That(row["_etag"].ToString() != item["_etag"]?.ToString(), "a new etag");
    }

    public static async Task Conditions(World world)
    {
        var container = await world.Container();
        await container.CreateItemAsync(Claim.Item("1", "a", new { n = 1 }), Key);
        var more = new[] { PatchOperation.Increment("/n", 1) };
        var filter = new PatchItemRequestOptions { FilterPredicate = "FROM c WHERE c.n = 1" };
        await container.PatchItemAsync<JObject>("1", Key, more, filter);
        await Claim.Fails(HttpStatusCode.PreconditionFailed, () => container.PatchItemAsync<JObject>("1", Key, more, filter));
        await Claim.Fails(HttpStatusCode.NotFound, () => container.PatchItemAsync<JObject>("2", Key, more));
        var nowhere = new[] { PatchOperation.Replace("/missing/x", 1) };
        await Claim.Fails(HttpStatusCode.BadRequest, () => container.PatchItemAsync<JObject>("1", Key, nowhere));
        var id = new[] { PatchOperation.Set("/id", "2") };
        await Claim.Fails(HttpStatusCode.BadRequest, () => container.PatchItemAsync<JObject>("1", Key, id));
        var quiet = new PatchItemRequestOptions { EnableContentResponseOnWrite = false };
        var silent = await container.PatchItemAsync<JObject>("1", Key, more, quiet);
        Claim.That(silent.Resource == null && silent.ETag != null, "no body when none is asked for");
    }

    public static async Task InABatch(World world)
    {
        var container = await world.Container();
        await container.CreateItemAsync(Claim.Item("1", "a", new { n = 1 }), Key);
        var more = new[] { PatchOperation.Increment("/n", 1) };
        using var done = await container.CreateTransactionalBatch(Key)
            .PatchItem("1", more).UpsertItem(Claim.Item("2", "a")).PatchItem("1", more).ReadItem("1").DeleteItem("2").ExecuteAsync();
        Claim.That(done.IsSuccessStatusCode, done.ErrorMessage);
        Claim.Same(3, (int)done.GetOperationResultAtIndex<JObject>(3).Resource["n"], "both patches");
    }
}
