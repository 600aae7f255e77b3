using System.Collections.Concurrent;
using System.Diagnostics;
using System.Net;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

/// What an application sees when its server goes away, falls silent or is cut off: its SDK recovers by itself.
static class Faults
{
    static readonly PartitionKey Key = new("a");

    static async Task<Container> Container(CosmosClient client)
    {
        Database database = await client.CreateDatabaseIfNotExistsAsync("faults");
        Container container = await database.CreateContainerIfNotExistsAsync("c", "/pk");
        await container.UpsertItemAsync(Claim.Item("1", "a"), Key);
        return container;
    }

    static CosmosClient Connect(int port, bool isTrusting = true) =>
        World.Connect(World.Key, endpoint: $"https://localhost:{port}/", isTrusting: isTrusting);

    /// With both protocols on one port, a client that loses its server cannot ask for addresses either: calls meanwhile may
    /// fail. As soon as it is back the same client works, and everything acknowledged is there.
    public static async Task Restart(World world)
    {
        await using var server = await OwnServer.Create();
        using var client = Connect(server.Port);
        var container = await Container(client);
        await container.CreateItemAsync(Claim.Item("kept", "a"), Key);
        await server.Kill();
        var reads = Enumerable.Range(0, 10).Select(_ => Answered(() => container.ReadItemAsync<JObject>("kept", Key))).ToList();
        await Task.Delay(1500);
        await server.Start();
        var clock = Stopwatch.StartNew();
        await container.ReadItemAsync<JObject>("kept", Key);
        var answered = (await Task.WhenAll(reads)).Count(it => it);
        Console.WriteLine($"back after {clock.ElapsedMilliseconds} ms; {answered} of 10 reads outlived it");
        Claim.That(clock.Elapsed < TimeSpan.FromSeconds(10), "it took long");
        await container.CreateItemAsync(Claim.Item("after", "a"), Key);
        Claim.Same(3, (await Claim.All<JObject>(container, "SELECT * FROM c")).Count, "items");
    }

    static async Task<bool> Answered(Func<Task> call)
    {
        try
        {
            await call();
            return true;
        }
        catch (Exception refused) when (refused is HttpRequestException or CosmosException)
        {
            return false;
        }
    }

    /// Reads go on; a write that was under way may fail, for nobody knows what became of it, and the next one works.
    public static async Task CutConnections(World world)
    {
        await using var server = await OwnServer.Create();
        using var proxy = new Proxy(server.Port);
        using var client = Connect(proxy.Port);
        var container = await Container(client);
        var (written, failures) = (new ConcurrentBag<string>(), new ConcurrentBag<CosmosException>());
        var isOver = false;
        var reads = 0;
        async Task Read()
        {
            for (; !isOver; Interlocked.Increment(ref reads)) await container.ReadItemAsync<JObject>("1", Key);
        }
        async Task Write(int writer)
        {
            for (var n = 0; !isOver; n++)
            {
                try
                {
                    await container.CreateItemAsync(Claim.Item($"{writer}-{n}", "a"), Key);
                    written.Add($"{writer}-{n}");
                }
                catch (CosmosException failed)
                {
                    failures.Add(failed);
                }
            }
        }
        var work = Enumerable.Range(0, 4).SelectMany(n => new[] { Task.Run(Read), Task.Run(() => Write(n)) }).ToList();
        var n = 0;
        for (var round = 0; round < 5; round++)
        {
            await Task.Delay(400);
            n += proxy.Cut();
        }
        await Task.Delay(1000);
        isOver = true;
        await Task.WhenAll(work);
        Console.WriteLine($"{n} connections cut, {reads} reads, {written.Count} writes, {failures.Count} of unknown end");
        Claim.That(n >= 5 && reads > 50 && written.Count > 50, "work went on");
        // 409: the SDK sent it again, and the first had arrived.
        Claim.That(failures.All(it => (int)it.StatusCode is 503 or 408 or 409), string.Join("\n", failures.Select(it => it.Message)));
        var stored = (await Claim.All<string>(container, "SELECT VALUE c.id FROM c")).ToHashSet();
        Claim.That(written.All(stored.Contains), "what was acknowledged is there");
    }

    /// A pause that is shorter than the time limit is only slow.
    public static async Task ShortSilence(World world)
    {
        await using var server = await OwnServer.Create();
        using var client = Connect(server.Port);
        var container = await Container(client);
        var silence = server.Silent(TimeSpan.FromSeconds(3));
        await Task.Delay(500);
        var clock = Stopwatch.StartNew();
        await Task.WhenAll(container.ReadItemAsync<JObject>("1", Key), container.CreateItemAsync(Claim.Item("2", "a"), Key));
        Claim.That(clock.Elapsed > TimeSpan.FromSeconds(1), "it was silent");
        await silence;
    }

    /// A longer one: a read is sent again, a write is given up with 408.
    public static async Task LongSilence(World world)
    {
        await using var server = await OwnServer.Create();
        using var client = Connect(server.Port);
        var container = await Container(client);
        var silence = server.Silent(TimeSpan.FromSeconds(11));
        await Task.Delay(500);
        var read = container.ReadItemAsync<JObject>("1", Key);
        await Claim.Fails(HttpStatusCode.RequestTimeout, () => container.CreateItemAsync(Claim.Item("2", "a"), Key));
        await read;
        await silence;
        await container.UpsertItemAsync(Claim.Item("2", "a"), Key);
    }

    /// Who trusts HTTP only gets nothing over the other protocol.
    public static async Task WrongCertificate(World world)
    {
        await using var server = await OwnServer.Create();
        using (var client = Connect(server.Port))
        {
            await Container(client);
        }
        using var strict = Connect(server.Port, isTrusting: false);
        var container = strict.GetContainer("faults", "c");
        await Claim.Fails(HttpStatusCode.ServiceUnavailable, () => container.ReadItemAsync<JObject>("1", Key));
    }
}
