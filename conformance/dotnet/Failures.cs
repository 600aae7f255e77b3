using System.Diagnostics;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

/// What the application sees of each failure in direct mode: what the SDK tries again, and what it hands over. It waits for many
/// seconds where an answer lacks a position, so the time counts as well.
static class Failures
{
    static readonly TimeSpan AtOnce = TimeSpan.FromSeconds(4);
    static readonly PartitionKey Key = new("a");

    /// The next requests of a kind fail, so many times.
    static Task Fail(Container container, string action, int status, int substatus, int times)
    {
        var match = new { action, path = $"dbs/{container.Database.Id}/colls/{container.Id}" };
        var rule = JObject.FromObject(new { match, status, subStatus = substatus, times });
        if (status == 429) rule["retryAfterMs"] = 20;
        return World.Send(HttpMethod.Post, "/_orrery/faults", rule.ToString());
    }

    /// What a call came to: "ok", or status and sub-status.
    static async Task<string> Outcome(Container container, bool isRead, int status, int substatus)
    {
        await Fail(container, isRead ? "item_read" : "item_create", status, substatus, 1);
        var clock = Stopwatch.StartNew();
        var outcome = "ok";
        try
        {
            if (isRead) await container.ReadItemAsync<JObject>("1", Key);
            else await container.CreateItemAsync(Claim.Item(Guid.NewGuid().ToString(), "a"), Key);
        }
        catch (CosmosException failed)
        {
            outcome = $"{(int)failed.StatusCode}/{failed.SubStatusCode}";
        }
        Claim.That(clock.Elapsed < AtOnce, $"{status}/{substatus} took {clock.Elapsed}");
        await World.Send(HttpMethod.Delete, "/_orrery/faults");
        return outcome;
    }

    static async Task Check(Container container, string expected, bool isRead, int status, int substatus)
    {
        var words = $"{(isRead ? "a read" : "a write")}, {status}/{substatus}";
        Claim.Same(expected, await Outcome(container, isRead, status, substatus), words);
    }

    static async Task<Container> Warm(World world)
    {
        var container = await world.Container();
        await container.CreateItemAsync(Claim.Item("1", "a"), Key);
        await container.ReadItemAsync<JObject>("1", Key);
        return container;
    }

    public static async Task Passing(World world)
    {
        var container = await Warm(world);
        foreach (var (status, substatus) in new[] { (410, 0), (410, 1000), (410, 1007), (410, 1008), (429, 3200), (449, 0), (403, 3) })
        {
            await Check(container, "ok", true, status, substatus);
            await Check(container, "ok", false, status, substatus);
        }
        await Check(container, "ok", true, 404, 1002);
        await Check(container, "ok", true, 410, 1022);
    }

    public static async Task Staying(World world)
    {
        var container = await Warm(world);
        foreach (var status in new[] { 400, 401, 403, 404, 408, 409, 412, 413, 423, 500 })
        {
            await Check(container, $"{status}/0", true, status, 0);
            await Check(container, $"{status}/0", false, status, 0);
        }
        foreach (var isRead in new[] { true, false })
        {
            await Check(container, "410/1002", isRead, 410, 1002);
            await Check(container, "503/21008", isRead, 503, 0);
        }
        await Check(container, "503/1022", false, 410, 1022);
        await Check(container, "403/1008", false, 403, 1008);
    }
}
