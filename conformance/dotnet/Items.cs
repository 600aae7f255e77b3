using System.Net;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

static class Items
{
    public static async Task Life(World world)
    {
        var container = await world.Container();
        var key = new PartitionKey("a");
        var created = await container.CreateItemAsync(Claim.Item("1", "a", new { n = 1 }), key);
        Claim.Same(HttpStatusCode.Created, created.StatusCode, "create");
        Claim.That(created.RequestCharge > 0 && created.Headers.Session.Contains(':'), "charge and session");
        Claim.That(created.Headers["x-ms-resource-quota"].Contains("documentsCount"), "quota");
        await Claim.Fails(HttpStatusCode.Conflict, () => container.CreateItemAsync(Claim.Item("1", "a"), key));
        var patched = await container.PatchItemAsync<JObject>("1", key, new[] { PatchOperation.Increment("/n", 2) });
        Claim.Same(3, (int)patched.Resource["n"], "patch");
        var stale = new ItemRequestOptions { IfMatchEtag = created.ETag };
        var late = () => container.ReplaceItemAsync(Claim.Item("1", "a"), "1", key, stale);
        await Claim.Fails(HttpStatusCode.PreconditionFailed, late);
        await container.DeleteItemAsync<JObject>("1", key);
        await Claim.Fails(HttpStatusCode.NotFound, () => container.ReadItemAsync<JObject>("1", key));
    }

    public static async Task Slashes(World world)
    {
        var container = await world.Container();
        await container.CreateItemAsync(Claim.Item("with/slash", "a"), new PartitionKey("a"));
        var rows = await Claim.All<string>(container, "SELECT VALUE c.id FROM c");
        Claim.Same("with/slash", rows.Single(), "the id");
        await Claim.Fails(HttpStatusCode.NotFound, () => container.ReadItemAsync<JObject>("with/slash", new PartitionKey("a")));
    }

    public static async Task ReplaceOfNothing(World world)
    {
        var container = await world.Container();
        var other = Claim.Item("1", "other");
        await Claim.Fails(HttpStatusCode.NotFound, () => container.ReplaceItemAsync(other, "1", new PartitionKey("a")));
    }
}
