using System.Net;
using System.Text;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

/// Calls with streams answer with a status where the others throw.
static class Streams
{
    static readonly PartitionKey Key = new("a");

    static Stream Body(string text) => new MemoryStream(Encoding.UTF8.GetBytes(text));

    static async Task<string> Text(ResponseMessage answer)
    {
        using var reader = new StreamReader(answer.Content);
        return await reader.ReadToEndAsync();
    }

    public static async Task Life(World world)
    {
        var container = await world.Container();
        using var created = await container.CreateItemStreamAsync(Body("{\"id\":\"1\",\"pk\":\"a\",\"é\":\"ü€😀\"}"), Key);
        Claim.Same(HttpStatusCode.Created, created.StatusCode, created.ErrorMessage);
        using var again = await container.CreateItemStreamAsync(Body("{\"id\":\"1\",\"pk\":\"a\"}"), Key);
        Claim.Same(HttpStatusCode.Conflict, again.StatusCode, "create again");
        using var read = await container.ReadItemStreamAsync("1", Key);
        Claim.Same("ü€😀", (string)JObject.Parse(await Text(read))["é"], "the text");
        using var replaced = await container.ReplaceItemStreamAsync(Body("{\"id\":\"1\",\"pk\":\"a\",\"n\":2}"), "1", Key);
        Claim.Same(HttpStatusCode.OK, replaced.StatusCode, "replace");
        using var upserted = await container.UpsertItemStreamAsync(Body("{\"id\":\"2\",\"pk\":\"a\"}"), Key);
        Claim.Same(HttpStatusCode.Created, upserted.StatusCode, "upsert");
        using var deleted = await container.DeleteItemStreamAsync("2", Key);
        Claim.Same(HttpStatusCode.NoContent, deleted.StatusCode, "delete");
        using var missing = await container.ReadItemStreamAsync("2", Key);
        Claim.Same(HttpStatusCode.NotFound, missing.StatusCode, "missing");
    }

    public static async Task Refusals(World world)
    {
        var container = await world.Container();
        foreach (var body in new[] { "", "no json", "[1]", "{\"pk\":\"a\"", "{\"id\":7,\"pk\":\"a\"}" })
        {
            using var answer = await container.CreateItemStreamAsync(Body(body), Key);
            Claim.Same(HttpStatusCode.BadRequest, answer.StatusCode, body);
        }
        using var otherKey = await container.CreateItemStreamAsync(Body("{\"id\":\"1\",\"pk\":\"b\"}"), Key);
        Claim.Same(HttpStatusCode.BadRequest, otherKey.StatusCode, "another key");
        var large = "{\"id\":\"1\",\"pk\":\"a\",\"t\":\"" + new string('x', 3 << 20) + "\"}";
        using var tooLarge = await container.CreateItemStreamAsync(Body(large), Key);
        Claim.Same(HttpStatusCode.RequestEntityTooLarge, tooLarge.StatusCode, "three megabytes");
        using var nowhere = await world.Client.GetContainer(world.Database.Id, "nowhere").ReadItemStreamAsync("1", Key);
        Claim.Same(HttpStatusCode.NotFound, nowhere.StatusCode, "no container");
        using var query = container.GetItemQueryStreamIterator("SELECT * FRO c");
        using var page = await query.ReadNextAsync();
        Claim.Same(HttpStatusCode.BadRequest, page.StatusCode, "a query that is none");
    }

    public static async Task LargeItems(World world)
    {
        var container = await world.Container(units: 25000);
        var text = new string('é', 500_000);
        var writes = Enumerable.Range(0, 12).Select(n => container.CreateItemAsync(Claim.Item("i" + n, "k" + n, new { text })));
        await Task.WhenAll(writes);
        var reads = Enumerable.Range(0, 12).Select(n => container.ReadItemAsync<JObject>("i" + n, new PartitionKey("k" + n)));
        Claim.That((await Task.WhenAll(reads)).All(it => (string)it.Resource["text"] == text), "all come back whole");
        Claim.Same(12, (await Claim.All<JObject>(container, "SELECT * FROM c")).Count, "in a query");
    }
}
