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
}
