using Microsoft.Azure.Documents;
using Microsoft.Azure.Documents.Client;
using Microsoft.Azure.Documents.Partitioning;

/// <summary>A table says where each city lives.</summary>
class LookupResolver : IPartitionResolver
{
    readonly Dictionary<string, string> table;

    public LookupResolver(Dictionary<string, string> table) => this.table = table;

    public object GetPartitionKey(object document) => ((Profile)document).City;

    public string ResolveForCreate(object key) => table[(string)key];

    public IEnumerable<string> ResolveForRead(object key) =>
        key == null ? table.Values.Distinct() : new[] { table[(string)key] };
}

/// <summary>Makes as many containers as it is told, and spreads over them.</summary>
class ManagedResolver : IPartitionResolver
{
    readonly HashPartitionResolver ring;

    ManagedResolver(HashPartitionResolver ring) => this.ring = ring;

    public static async Task<ManagedResolver> Create(DocumentClient client, string database, string prefix, int count)
    {
        var links = new List<string>();
        for (var n = 0; n < count; n++)
        {
            var id = new DocumentCollection { Id = $"{prefix}{n}" };
            links.Add((await client.CreateDocumentCollectionIfNotExistsAsync(database, id)).Resource.SelfLink);
        }
        return new ManagedResolver(new HashPartitionResolver("UserId", links));
    }

    public object GetPartitionKey(object document) => ring.GetPartitionKey(document);
    public string ResolveForCreate(object key) => ring.ResolveForCreate(key);
    public IEnumerable<string> ResolveForRead(object key) => ring.ResolveForRead(key);
}

/// <summary>Fills one container after another. It asks the service how full the last one is.</summary>
class SpilloverResolver : IPartitionResolver
{
    readonly DocumentClient client;
    readonly string database;
    readonly Func<ResourceResponse<DocumentCollection>, bool> isFull;
    int created;

    public List<string> Links { get; } = new();

    public SpilloverResolver(
        DocumentClient client, string database, Func<ResourceResponse<DocumentCollection>, bool> isFull)
    {
        (this.client, this.database, this.isFull) = (client, database, isFull);
        Grow();
    }

    public object GetPartitionKey(object document) => null;

    public string ResolveForCreate(object key)
    {
        if (++created % 10 == 0 && isFull(client.ReadDocumentCollectionAsync(Links[^1]).Result)) Grow();
        return Links[^1];
    }

    public IEnumerable<string> ResolveForRead(object key) => Links;

    void Grow()
    {
        var id = new DocumentCollection { Id = $"spill{Links.Count}" };
        Links.Add(client.CreateDocumentCollectionAsync(database, id).Result.Resource.SelfLink);
    }
}

/// <summary>While documents move: new ones go to their new place, reads look into both.</summary>
class TransitionResolver : IPartitionResolver
{
    readonly IPartitionResolver before, after;

    public TransitionResolver(IPartitionResolver before, IPartitionResolver after) =>
        (this.before, this.after) = (before, after);

    public object GetPartitionKey(object document) => after.GetPartitionKey(document);
    public string ResolveForCreate(object key) => after.ResolveForCreate(key);
    public IEnumerable<string> ResolveForRead(object key) =>
        before.ResolveForRead(key).Union(after.ResolveForRead(key));
}
