using System.Net;
using Microsoft.Azure.Cosmos;
using Microsoft.Azure.Cosmos.Scripts;
using Newtonsoft.Json.Linq;

static class Scripts
{
    static readonly PartitionKey Key = new("a");

    public static async Task AnonymousFunction(World world)
    {
        var container = await world.Container();
        var body = "function (x) { getContext().getResponse().setBody('hi ' + x); };";
        await container.Scripts.CreateStoredProcedureAsync(new StoredProcedureProperties("hi", body));
        var answer = await container.Scripts.ExecuteStoredProcedureAsync<string>("hi", Key, new dynamic[] { "you" });
        Claim.Same("hi you", answer.Resource, "a procedure");
    }

    static Task Trigger(Container container, TriggerOperation operation, string body)
    {
        var trigger = new TriggerProperties
        {
            Id = "t",
            TriggerType = TriggerType.Pre,
            TriggerOperation = operation,
            Body = body,
        };
        return container.Scripts.CreateTriggerAsync(trigger);
    }

    public static async Task SetBodyByReference(World world)
    {
        var container = await world.Container();
        var body = "function t() { var r = getContext().getRequest(); var d = r.getBody(); r.setBody(d); d.n = 1; }";
        await Trigger(container, TriggerOperation.Create, body);
        var options = new ItemRequestOptions { PreTriggers = new[] { "t" } };
        await container.CreateItemAsync(Claim.Item("1", "a"), Key, options);
        var read = await container.ReadItemAsync<JObject>("1", Key);
        Claim.Same(1, (int?)read.Resource["n"], "the item");
    }

    public static async Task TriggerBeforeDelete(World world)
    {
        var container = await world.Container();
        var body = "function t() { if (getContext().getRequest().getBody().keep) throw new Error('kept'); }";
        await Trigger(container, TriggerOperation.Delete, body);
        await container.CreateItemAsync(Claim.Item("1", "a", new { keep = true }), Key);
        await container.CreateItemAsync(Claim.Item("2", "a", new { keep = false }), Key);
        var options = new ItemRequestOptions { PreTriggers = new[] { "t" } };
        await Claim.Fails(System.Net.HttpStatusCode.BadRequest, () => container.DeleteItemAsync<JObject>("1", Key, options));
        await container.DeleteItemAsync<JObject>("2", Key, options);
    }

    public static async Task Functions(World world)
    {
        var container = await world.Container(units: 25000);
        var twice = new UserDefinedFunctionProperties { Id = "twice", Body = "function (n) { return n * 2; }" };
        await container.Scripts.CreateUserDefinedFunctionAsync(twice);
        await Task.WhenAll(Enumerable.Range(0, 12).Select(n => container.CreateItemAsync(Claim.Item("i" + n, "k" + n, new { n }))));
        var rows = await Claim.All<int>(container, "SELECT VALUE udf.twice(c.n) FROM c WHERE udf.twice(c.n) >= 20");
        Claim.Same("20,22", string.Join(",", rows.Order()), "in a row and in a filter");
        twice.Body = "function (n) { return n * 3; }";
        await container.Scripts.ReplaceUserDefinedFunctionAsync(twice);
        Claim.Same(33, (await Claim.All<int>(container, "SELECT VALUE MAX(udf.twice(c.n)) FROM c")).Single(), "replaced");
        await container.Scripts.DeleteUserDefinedFunctionAsync("twice");
        await Claim.Fails(HttpStatusCode.BadRequest, () => Claim.All<int>(container, "SELECT VALUE udf.twice(c.n) FROM c"));
    }

    public static async Task Procedures(World world)
    {
        var container = await world.Container(units: 25000);
        var body = @"function (n) {
            var store = getContext().getCollection(), made = 0;
            console.log('begin ' + n);
            for (var i = 0; i < n; i++) {
                store.createDocument(store.getSelfLink(), { id: 'p' + i, pk: 'a' }, function (error) {
                    if (error) throw error;
                    if (++made === n) getContext().getResponse().setBody({ made: made });
                });
            }
        }";
        await container.Scripts.CreateStoredProcedureAsync(new StoredProcedureProperties("fill", body));
        var options = new StoredProcedureRequestOptions { EnableScriptLogging = true };
        var done = await container.Scripts.ExecuteStoredProcedureAsync<JObject>("fill", Key, new dynamic[] { 5 }, options);
        Claim.Same(5, (int)done.Resource["made"], "items made");
        Claim.Same("begin 5", done.ScriptLog, "the log");
        // The second run fails at its first item, and leaves nothing.
        await Claim.Fails(HttpStatusCode.Conflict,
            () => container.Scripts.ExecuteStoredProcedureAsync<JObject>("fill", Key, new dynamic[] { 7 }));
        Claim.Same(5, (await Claim.All<JObject>(container, "SELECT * FROM c")).Count, "items");
        using var feed = container.Scripts.GetStoredProcedureQueryIterator<StoredProcedureProperties>();
        Claim.Same("fill", (await feed.ReadNextAsync()).Single().Id, "in the feed");
        await container.Scripts.DeleteStoredProcedureAsync("fill");
        await Claim.Fails(HttpStatusCode.NotFound,
            () => container.Scripts.ExecuteStoredProcedureAsync<JObject>("fill", Key, new dynamic[] { 1 }));
    }

    public static async Task PostTrigger(World world)
    {
        var container = await world.Container();
        var body = @"function count() {
            var store = getContext().getCollection();
            store.upsertDocument(store.getSelfLink(), { id: 'last', pk: 'a', of: getContext().getResponse().getBody().id });
        }";
        await container.Scripts.CreateTriggerAsync(new TriggerProperties
        {
            Id = "count", TriggerType = TriggerType.Post, TriggerOperation = TriggerOperation.All, Body = body,
        });
        var options = new ItemRequestOptions { PostTriggers = new[] { "count" } };
        await container.CreateItemAsync(Claim.Item("1", "a"), Key, options);
        Claim.Same("1", (string)(await container.ReadItemAsync<JObject>("last", Key)).Resource["of"], "what the trigger wrote");
        var unknown = new ItemRequestOptions { PostTriggers = new[] { "nobody" } };
        await Claim.Fails(HttpStatusCode.BadRequest, () => container.CreateItemAsync(Claim.Item("2", "a"), Key, unknown));
        await Claim.Fails(HttpStatusCode.NotFound, () => container.ReadItemAsync<JObject>("2", Key));
    }
}
