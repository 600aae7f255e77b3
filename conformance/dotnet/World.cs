using System.Net;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

/// A client and a database of its own for each claim.
sealed class World : IAsyncDisposable
{
    static readonly string Endpoint = Variable("ORRERY_ENDPOINT", "http://localhost:8081/");
    // The key that every emulator of this protocol starts with; it protects nothing.
    public static readonly string Key = Variable(
        "ORRERY_KEY", "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==");
    public static readonly int MinPartitions = int.Parse(Variable("ORRERY_MIN_PARTITIONS", "1"));

    public static readonly string ReadOnlyKey = Variable("ORRERY_READ_ONLY_KEY", "");
    /// The level of the account: what the server was started with.
    public static readonly ConsistencyLevel Level = Enum.Parse<ConsistencyLevel>(Variable("ORRERY_CONSISTENCY", "Session"));
    /// The server's program, for claims that end and start it.
    public static readonly string Binary = Variable("ORRERY_BINARY", "");
    public static readonly bool HasGrowth = Variable("ORRERY_GROWTH", "") == "1";
    public static readonly bool IsThrottled = Variable("ORRERY_THROTTLED", "") == "1";

    public static readonly bool IsDirect = Variable("ORRERY_CONNECTION_MODE", "gateway") == "direct";

    public CosmosClient Client { get; private init; }
    public Database Database { get; private set; }
    public Watch Seen { get; private init; }

    public static async Task<World> Create(bool bulk = false)
    {
        var seen = new Watch();
        var client = Connect(Key, bulk, seen);
        var world = new World { Client = client, Seen = seen };
        world.Database = await client.CreateDatabaseAsync("dotnet-" + Guid.NewGuid());
        return world;
    }

    /// A client with a key or a resource token.
    public static CosmosClient Connect(string credential, bool bulk = false, Watch seen = null, int? retries = null,
        string endpoint = null, bool isTrusting = true)
    {
        seen ??= new Watch();
        var options = new CosmosClientOptions
        {
            AllowBulkExecution = bulk,
            MaxRetryAttemptsOnRateLimitedRequests = retries,
            HttpClientFactory = () => new HttpClient(seen, false),
            // For the sockets of direct mode; the handler above speaks for HTTP only.
            ServerCertificateCustomValidationCallback = isTrusting ? (_, _, _) => true : null,
        };
        // Direct mode is the default.
        if (!IsDirect) options.ConnectionMode = ConnectionMode.Gateway;
        return new CosmosClient(endpoint ?? Endpoint, credential, options);
    }

    /// Asks the server itself, beside the SDK.
    public static async Task<string> Send(HttpMethod method, string path, string body = null)
    {
        using var client = new HttpClient(new Watch());
        using var request = new HttpRequestMessage(method, Endpoint.TrimEnd('/') + path);
        request.Headers.TryAddWithoutValidation("Authorization", "Bearer " + Key);
        request.Content = body == null ? null : new StringContent(body);
        using var answer = await client.SendAsync(request);
        var text = await answer.Content.ReadAsStringAsync();
        Claim.That(answer.IsSuccessStatusCode, $"{path}: {answer.StatusCode} {text}");
        return text;
    }

    public async Task<Container> Container(string id = "c", int units = 400, string path = "/pk")
    {
        return await Database.CreateContainerAsync(new ContainerProperties(id, path), units);
    }

    public async ValueTask DisposeAsync()
    {
        await Database.DeleteAsync();
        Client.Dispose();
    }

    static string Variable(string name, string fallback)
    {
        var value = Environment.GetEnvironmentVariable(name);
        return string.IsNullOrEmpty(value) ? fallback : value;
    }
}

/// Counts what the SDK asks for. The certificate is self-signed.
sealed class Watch : DelegatingHandler
{
    public int Plans;
    public int Addresses;
    public int ForcedAddresses;

    public Watch() : base(new HttpClientHandler { ServerCertificateCustomValidationCallback = (_, _, _, _) => true }) { }

    protected override Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken token)
    {
        if (request.Headers.Contains("x-ms-cosmos-is-query-plan-request"))
        {
            Interlocked.Increment(ref Plans);
        }
        if (request.RequestUri.AbsolutePath.Contains("/addresses/"))
        {
            Interlocked.Increment(ref Addresses);
            if (request.Headers.Contains("x-ms-force-refresh")) Interlocked.Increment(ref ForcedAddresses);
        }
        return base.SendAsync(request, token);
    }
}

static class Claim
{
    public static void That(bool claim, string words)
    {
        if (!claim) throw new InvalidOperationException(words);
    }

    public static void Same<T>(T expected, T found, string words)
    {
        That(Equals(expected, found), $"{words}: expected {expected}, found {found}");
    }

    /// Expects a refusal of the server.
    public static async Task<CosmosException> Fails(HttpStatusCode code, Func<Task> call)
    {
        try
        {
            await call();
        }
        catch (CosmosException refused)
        {
            Same(code, refused.StatusCode, refused.Message);
            return refused;
        }
        throw new InvalidOperationException($"expected {code}, and it worked");
    }

    public static async Task Until(string words, Func<bool> claim)
    {
        var end = DateTime.UtcNow.AddSeconds(60);
        while (!claim())
        {
            That(DateTime.UtcNow < end, words);
            await Task.Delay(100);
        }
    }

    public static JObject Item(string id, string pk, object more = null)
    {
        var item = more == null ? new JObject() : JObject.FromObject(more);
        item["id"] = id;
        item["pk"] = pk;
        return item;
    }

    /// Reads a query in one go.
    public static async Task<List<T>> All<T>(Container container, string query, QueryRequestOptions options = null)
    {
        var rows = new List<T>();
        using var iterator = container.GetItemQueryIterator<T>(query, null, options);
        while (iterator.HasMoreResults)
        {
            rows.AddRange(await iterator.ReadNextAsync());
        }
        return rows;
    }

    /// Reads a query with an iterator of its own for each page.
    public static async Task<List<T>> PageByPage<T>(Container container, string query, int size)
    {
        var rows = new List<T>();
        string token = null;
        for (var n = 0; n < 500; n++)
        {
            var options = new QueryRequestOptions { MaxItemCount = size };
            using var iterator = container.GetItemQueryIterator<T>(query, token, options);
            var page = await iterator.ReadNextAsync();
            rows.AddRange(page);
            token = page.ContinuationToken;
            if (token == null) return rows;
        }
        throw new InvalidOperationException("the pages do not end");
    }
}
