using System.Text.RegularExpressions;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

/// What a client of direct mode asks for besides its work: addresses once for each range, and nothing to wait for replicas.
static class Traffic
{
    /// Answered requests of an action, of all clients.
    static async Task<int> Count(string action)
    {
        var text = await World.Send(HttpMethod.Get, "/metrics");
        var lines = Regex.Matches(text, $"orrery_requests_total{{action=\"{action}\"[^}}]*}} (\\d+)");
        return lines.Sum(it => int.Parse(it.Groups[1].Value));
    }

    public static async Task OneAddressCallForEachRange(World world)
    {
        var container = await world.Container(units: 25000);
        var ranges = (await container.GetFeedRangesAsync()).Count;
        var (addresses, barriers) = (await Count("addresses"), await Count("barrier"));
        var before = world.Seen.Addresses;
        for (var round = 0; round < 3; round++)
        {
            await Task.WhenAll(Enumerable.Range(0, 60).Select(n => container.UpsertItemAsync(Claim.Item("i" + n, "k" + n))));
            await Task.WhenAll(Enumerable.Range(0, 60).Select(n => container.ReadItemAsync<JObject>("i" + n, new PartitionKey("k" + n))));
            Claim.Same(60, (await Claim.All<JObject>(container, "SELECT * FROM c ORDER BY c.id")).Count, "a query");
            await world.Database.ReadAsync();
        }
        var asked = world.Seen.Addresses - before;
        // The ranges of the container, the master's at most once more, and what is asked twice when many begin at once.
        Claim.That(World.IsDirect ? asked >= 1 && asked <= 2 * ranges + 1 : asked == 0, $"{asked} calls for {ranges} ranges");
        Claim.Same(0, world.Seen.ForcedAddresses, "forced calls");
        Claim.Same(asked, await Count("addresses") - addresses, "calls that the server counted");
        Claim.Same(barriers, await Count("barrier"), "barriers");
    }
}
