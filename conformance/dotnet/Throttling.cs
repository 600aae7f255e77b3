using System.Diagnostics;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

/// A burst over the provisioned throughput, against a server that enforces it; the SDK retries as it does by default.
static class Throttling
{
    const int Units = 400;
    const int Writes = 2000;

    public static async Task Burst(World world)
    {
        var container = await world.Container(units: Units);
        var next = -1;
        var refused = 0;
        async Task<double> Write()
        {
            var charge = 0.0;
            for (var n = Interlocked.Increment(ref next); n < Writes; n = Interlocked.Increment(ref next))
            {
                var made = await container.CreateItemAsync(Claim.Item($"{n:00000}", "k" + n % 97, new { note = new string('x', 200) }));
                charge += made.RequestCharge;
                if (made.Diagnostics.GetFailedRequestCount() > 0) Interlocked.Increment(ref refused);
            }
            return charge;
        }
        var clock = Stopwatch.StartNew();
        var charges = (await Task.WhenAll(Enumerable.Range(0, 16).Select(_ => Write()))).Sum();
        var rate = charges / clock.Elapsed.TotalSeconds;
        Console.WriteLine($"{charges:0} RU in {clock.Elapsed.TotalSeconds:0.0} s: {rate:0} RU/s, {refused} were refused at first");
        Claim.That(refused > 0, "nothing was refused: is --enforce-throughput on?");
        Claim.That(rate >= 0.9 * Units && rate <= 1.1 * Units, $"{rate:0.0} RU/s");
        var options = new QueryRequestOptions { MaxItemCount = 100 };
        Claim.Same(Writes, (await Claim.All<JObject>(container, "SELECT * FROM c", options)).Count, "all are there");
    }

    /// Without retries the application sees 429 and when to come again.
    public static async Task WithoutRetries(World world)
    {
        await world.Container(units: Units);
        using var client = World.Connect(World.Key, retries: 0);
        var container = client.GetContainer(world.Database.Id, "c");
        var note = new string('x', 200_000);
        for (var n = 0; n < 50; n++)
        {
            try
            {
                await container.CreateItemAsync(Claim.Item("i" + n, "a", new { note }), new PartitionKey("a"));
            }
            catch (CosmosException refused)
            {
                Claim.Same(429, (int)refused.StatusCode, refused.Message);
                Claim.Same(3200, refused.SubStatusCode, "the sub-status");
                Claim.That(refused.RetryAfter > TimeSpan.Zero, "when to come again");
                return;
            }
        }
        throw new InvalidOperationException("nothing was refused");
    }
}
