using System.Collections.Concurrent;
using System.Net;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

/// What goes on while the ranges of a container move; every worker checks what it sees as it goes. A worker that gets an
/// error ends the test: the SDK's own retries are all the help an application has while its container grows.
sealed class GrowthWork
{
    const int Keys = 48;
    const int FixedItems = 240;

    /// What the service said of an item that must exist.
    sealed record Acknowledged(string Key, int Version, string Token);

    readonly Container container;
    readonly Container other;
    readonly ConcurrentDictionary<string, Acknowledged> live = new();
    readonly Dictionary<string, int> seen = new();
    public int Written, Reads, Pages, Changes;
    public volatile bool IsOver;
    public volatile bool IsMerging;

    /// The other is the same container through another client, with a session of its own.
    public GrowthWork(Container container, Container other)
    {
        this.container = container;
        this.other = other;
    }

    public Task Fill() => Task.WhenAll(Enumerable.Range(0, FixedItems).Select(rank =>
        container.CreateItemAsync(Claim.Item("f" + rank, "k" + rank % Keys, new { isFixed = true, rank }))));

    /// One writer's life: every kind of write, on items that are its own.
    public async Task Write(int writer)
    {
        for (var n = 0; !IsOver; n++)
        {
            var id = $"w{writer}-{n}";
            var key = "k" + (n * 31 + writer * 7) % Keys;
            await LifeOfAnItem(id, key, n % 3 != 0);
            await Batch(id, key);
        }
    }

    async Task LifeOfAnItem(string id, string key, bool isKept)
    {
        var pk = new PartitionKey(key);
        JObject Item(int version) => Claim.Item(id, key, new { version });
        Put(id, key, 1, (await container.CreateItemAsync(Item(1), pk)).Headers);
        Put(id, key, 2, (await container.UpsertItemAsync(Item(2), pk)).Headers);
        Put(id, key, 3, (await container.ReplaceItemAsync(Item(3), id, pk)).Headers);
        var patched = await container.PatchItemAsync<JObject>(id, pk, new[] { PatchOperation.Increment("/version", 1) });
        Claim.Same(4, (int)patched.Resource["version"], id + " was patched from another version");
        Put(id, key, 4, patched.Headers);
        if (isKept) return;
        live.TryRemove(id, out _); // Readers stop looking before it goes.
        await container.DeleteItemAsync<JObject>(id, pk);
        Interlocked.Increment(ref Written);
    }

    async Task Batch(string id, string key)
    {
        var batch = container.CreateTransactionalBatch(new PartitionKey(key));
        for (var n = 0; n < 3; n++)
        {
            batch.CreateItem(Claim.Item($"{id}-b{n}", key, new { version = 1 }));
        }
        using var answer = await batch.UpsertItem(Claim.Item($"{id}-b0", key, new { version = 2 })).ExecuteAsync();
        Claim.That(answer.IsSuccessStatusCode, $"batch of {id}: {answer.StatusCode} {answer.ErrorMessage}");
        for (var n = 0; n < 3; n++)
        {
            Put($"{id}-b{n}", key, n == 0 ? 2 : 1, answer.Headers);
        }
    }

    void Put(string id, string key, int version, Headers headers)
    {
        live[id] = new Acknowledged(key, version, headers.Session);
        Interlocked.Increment(ref Written);
    }

    /// Reads what was acknowledged: by the writers' session, or with the token of the write in another one.
    public async Task Read(bool isOwn)
    {
        for (var n = 0; !IsOver; n++)
        {
            var ids = live.Keys.ToArray();
            if (ids.Length == 0 || !live.TryGetValue(ids[(int)(n * 7919L % ids.Length)], out var item))
            {
                await Task.Delay(5);
                continue;
            }
            var id = ids[(int)(n * 7919L % ids.Length)];
            var options = isOwn ? null : new ItemRequestOptions { SessionToken = item.Token };
            using var answer = await (isOwn ? container : other).ReadItemStreamAsync(id, new PartitionKey(item.Key), options);
            // It may have been deleted meanwhile, and only then be missing.
            if (answer.StatusCode == HttpStatusCode.NotFound && !live.ContainsKey(id)) continue;
            Claim.That(answer.IsSuccessStatusCode, $"{id}: {answer.StatusCode} {answer.ErrorMessage}");
            using var reader = new StreamReader(answer.Content);
            var version = (int)JObject.Parse(await reader.ReadToEndAsync())["version"];
            Claim.That(version >= item.Version, $"{id}: {version} after {item.Version}");
            Interlocked.Increment(ref Reads);
        }
    }

    /// The fixed items over all ranges: all of them, once, in order, however the ranges move.
    public async Task QueryInOrder()
    {
        var expected = string.Join(",", Enumerable.Range(0, FixedItems));
        for (var n = 0; !IsOver; n++)
        {
            var options = new QueryRequestOptions { MaxItemCount = 25 };
            Claim.Same(expected, await Ranks(options, n % 2 == 0), "all ranges");
        }
    }

    /// One logical partition. A token of this SDK names the range that its map had for the key. Resumed when that range was merged,
    /// with its neighbour to the right, the SDK asks once for each part of the new range. It names the key only and no part, so the
    /// rows come whole once more, whatever the service answers.
    public async Task QueryOneKey()
    {
        for (var n = 0; !IsOver; n++)
        {
            var number = n * 17 % Keys;
            var options = new QueryRequestOptions { MaxItemCount = 2, PartitionKey = new PartitionKey("k" + number) };
            var once = Enumerable.Range(0, FixedItems).Where(rank => rank % Keys == number).ToArray();
            var isResumed = n % 2 == 0;
            var ranks = await Ranks(options, isResumed);
            var length = ranks.Split(',').Length;
            var times = isResumed && IsMerging && length % once.Length == 0 ? Math.Max(1, length / once.Length) : 1;
            Claim.Same(string.Join(",", Enumerable.Repeat(once, times).SelectMany(it => it)), ranks, "k" + number);
        }
    }

    /// Page by page, each by a new query, so that only the token carries over, or all by one.
    async Task<string> Ranks(QueryRequestOptions options, bool isResumed)
    {
        const string text = "SELECT c.id, c.rank FROM c WHERE c.isFixed = true ORDER BY c.rank";
        var ranks = new List<int>();
        string token = null;
        do
        {
            using var iterator = container.GetItemQueryIterator<JObject>(text, token, options);
            while (iterator.HasMoreResults)
            {
                var page = await iterator.ReadNextAsync();
                ranks.AddRange(page.Select(row => (int)row["rank"]));
                token = page.ContinuationToken;
                Interlocked.Increment(ref Pages);
                await Task.Delay(20);
                if (isResumed) break;
            }
        } while (isResumed && token != null);
        return string.Join(",", ranks);
    }

    /// Follows the change feed from the beginning; stops when the writers have and nothing is new.
    public async Task Follow()
    {
        var start = ChangeFeedStartFrom.Beginning();
        while (true)
        {
            var isLast = IsOver;
            var isNew = false;
            using var iterator = other.GetChangeFeedIterator<JObject>(start, ChangeFeedMode.LatestVersion);
            while (true)
            {
                var page = await iterator.ReadNextAsync();
                start = ChangeFeedStartFrom.ContinuationToken(page.ContinuationToken);
                if (page.StatusCode == HttpStatusCode.NotModified) break;
                isNew = true;
                foreach (var item in page) See(item);
            }
            if (isLast && !isNew) return;
            await Task.Delay(20);
        }
    }

    void See(JObject item)
    {
        Changes++;
        var id = (string)item["id"];
        var version = (int?)item["version"] ?? 0;
        Claim.That(!seen.TryGetValue(id, out var before) || version > before, $"{id}: version {version} in the feed after {before}");
        seen[id] = version;
    }

    /// At the end: the container, the change feed and the ledger agree.
    public async Task Check()
    {
        var rows = await Claim.All<JObject>(container, "SELECT c.id, c.version FROM c WHERE NOT IS_DEFINED(c.isFixed)");
        var stored = rows.Select(row => $"{row["id"]}={row["version"]}").Order(StringComparer.Ordinal);
        var expected = live.Select(it => $"{it.Key}={it.Value.Version}").Order(StringComparer.Ordinal);
        Claim.Same(string.Join("\n", expected), string.Join("\n", stored), "the container and the ledger");
        foreach (var (id, item) in live)
        {
            Claim.Same(item.Version, seen[id], id + " in the change feed");
        }
    }
}
