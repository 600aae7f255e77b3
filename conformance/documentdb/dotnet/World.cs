using Microsoft.Azure.Documents;
using Microsoft.Azure.Documents.Client;
using Microsoft.Azure.Documents.Linq;
using Newtonsoft.Json;

/// <summary>A document of the articles: a profile that belongs to a user and a city.</summary>
class Profile
{
    [JsonProperty("id")] public string Id { get; set; }
    [JsonProperty("_self", NullValueHandling = NullValueHandling.Ignore)] public string SelfLink { get; set; }
    public string UserId { get; set; }
    public string City { get; set; }
    public int Visits { get; set; }

    public static Profile Number(int n) =>
        new() { Id = $"p{n}", UserId = $"user {n}", City = Cities[n % Cities.Length], Visits = n * 7 % 1000 };

    public static readonly string[] Cities = { "Aachen", "Bonn", "Cuxhaven", "Dresden", "Essen", "Freiburg", "Görlitz" };
}

/// <summary>A database of its own for one claim.</summary>
class World
{
    public DocumentClient Client { get; private init; }
    public Database Database { get; private init; }
    public string Link => Database.SelfLink;

    public static async Task<World> Create(DocumentClient client)
    {
        var database = await client.CreateDatabaseAsync(new Database { Id = $"documentdb-{Guid.NewGuid():N}" });
        return new World { Client = client, Database = database.Resource };
    }

    public Task Delete() => Client.DeleteDatabaseAsync(Link);

    /// <summary>Makes containers without a partition key; returns their links.</summary>
    public async Task<List<string>> Containers(int count, string prefix = "c")
    {
        var links = new List<string>();
        for (var n = 0; n < count; n++) links.Add(await Container($"{prefix}{n}"));
        return links;
    }

    public async Task<string> Container(string id)
    {
        var made = await Client.CreateDocumentCollectionAsync(Link, new DocumentCollection { Id = id });
        Check.Equal(0, made.Resource.PartitionKey.Paths.Count, "a container that was made without a key shows none");
        return made.Resource.SelfLink;
    }

    /// <summary>Writes profiles through the resolver of the database.</summary>
    public async Task Fill(int count)
    {
        for (var n = 0; n < count; n++) await Client.CreateDocumentAsync(Link, Profile.Number(n));
    }

    /// <summary>All documents of one container, page by page.</summary>
    public async Task<List<Profile>> All(string container)
    {
        var found = new List<Profile>();
        var query = Client.CreateDocumentQuery<Profile>(container, "SELECT * FROM c", new FeedOptions { MaxItemCount = 100 })
            .AsDocumentQuery();
        while (query.HasMoreResults) found.AddRange(await query.ExecuteNextAsync<Profile>());
        return found;
    }
}

static class Check
{
    public static void That(bool holds, string claim)
    {
        if (!holds) throw new Exception($"does not hold: {claim}");
    }

    public static void Equal<T>(T expected, T found, string claim)
    {
        if (!EqualityComparer<T>.Default.Equals(expected, found))
            throw new Exception($"{claim}: expected {expected}, found {found}");
    }
}
