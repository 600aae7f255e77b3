using Microsoft.Azure.Documents;
using Microsoft.Azure.Documents.Client;
using Microsoft.Azure.Documents.Linq;
using Microsoft.Azure.Documents.Partitioning;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

static class Partitioning
{
    public static async Task Hash(World world)
    {
        var links = await world.Containers(3);
        var resolver = new HashPartitionResolver(document => ((Profile)document).UserId, links);
        await IsSpreadAndFound(world, resolver, links);
    }

    /// <summary>Writes through the resolver: each document is where the resolver says, and is found there.</summary>
    static async Task IsSpreadAndFound(World world, IPartitionResolver resolver, List<string> links)
    {
        world.Client.PartitionResolvers[world.Link] = resolver;
        await world.Fill(120);
        var found = 0;
        foreach (var link in links)
        {
            var documents = await world.All(link);
            Check.That(documents.Count > 0, "every container has its part");
            foreach (var document in documents)
                Check.Equal(link, resolver.ResolveForCreate(resolver.GetPartitionKey(document)), document.Id);
            found += documents.Count;
        }
        Check.Equal(120, found, "documents in all containers");
        var one = world.Client.CreateDocumentQuery<Profile>(world.Link, null, "user 42")
            .Where(profile => profile.UserId == "user 42").ToList();
        Check.Equal(1, one.Count, "documents of one user");
        Check.Equal(120, world.Client.CreateDocumentQuery<Profile>(world.Link).ToList().Count, "documents of all users");
        var visits = world.Client.CreateDocumentQuery<Profile>(world.Link, null, "user 42")
            .OrderByDescending(profile => profile.Visits).ToList();
        Check.That(visits.Zip(visits.Skip(1)).All(pair => pair.First.Visits >= pair.Second.Visits), "one container is ordered");
    }

    public static async Task Ranges(World world)
    {
        var links = await world.Containers(3);
        var resolver = new RangePartitionResolver<string>("City", new Dictionary<Range<string>, string>
        {
            { new Range<string>("A", "C\uffff"), links[0] },
            { new Range<string>("D", "E\uffff"), links[1] },
            { new Range<string>("F", "Z\uffff"), links[2] },
        });
        world.Client.PartitionResolvers[world.Link] = resolver;
        await world.Fill(70);
        var counts = new List<int>();
        foreach (var link in links) counts.Add((await world.All(link)).Count);
        Check.Equal("30,20,20", string.Join(",", counts), "documents of each range of cities");
        var north = world.Client.CreateDocumentQuery<Profile>(world.Link, null, new Range<string>("A", "D")).ToList();
        Check.Equal(50, north.Count, "documents of the containers that a range touches");
        var bonn = world.Client.CreateDocumentQuery<Profile>(world.Link, null, "Bonn").Where(it => it.City == "Bonn").ToList();
        Check.Equal(10, bonn.Count, "documents of one city");
        try
        {
            await world.Client.CreateDocumentAsync(world.Link, new Profile { Id = "x", City = "1" });
            Check.That(false, "a city in no range is refused");
        }
        catch (InvalidOperationException)
        {
        }
    }

    public static async Task Lookup(World world)
    {
        var links = await world.Containers(2);
        var table = Profile.Cities.ToDictionary(city => city, city => links[string.CompareOrdinal(city, "D") < 0 ? 0 : 1]);
        world.Client.PartitionResolvers[world.Link] = new LookupResolver(table);
        await world.Fill(70);
        Check.Equal(30, (await world.All(links[0])).Count, "documents of the first three cities");
        Check.Equal(40, (await world.All(links[1])).Count, "documents of the others");
        Check.Equal(70, world.Client.CreateDocumentQuery<Profile>(world.Link).ToList().Count, "documents of all cities");
    }

    public static async Task Managed(World world)
    {
        var resolver = await ManagedResolver.Create(world.Client, world.Link, "users", 3);
        var again = await ManagedResolver.Create(world.Client, world.Link, "users", 3);
        var links = resolver.ResolveForRead(null).ToList();
        Check.Equal(3, links.Count, "containers");
        Check.That(links.SequenceEqual(again.ResolveForRead(null)), "the containers are made once");
        await IsSpreadAndFound(world, resolver, links);
    }

    public static async Task Spillover(World world)
    {
        var first = await world.Client.ReadDocumentCollectionAsync(await world.Container("first"));
        Check.That(first.CollectionSizeQuota > 0 && first.CollectionSizeUsage < first.CollectionSizeQuota / 10, "an empty container is far from full");
        Check.Equal(100L, first.IndexTransformationProgress, "index transformation progress");
        // The rule of the articles leaves everything in one container.
        var roomy = new SpilloverResolver(
            world.Client, world.Link, container => container.CollectionSizeUsage > container.CollectionSizeQuota * 9 / 10);
        world.Client.PartitionResolvers[world.Link] = roomy;
        await world.Fill(40);
        Check.Equal(1, roomy.Links.Count, "containers with room");
        Check.Equal(40, world.Client.CreateDocumentQuery<Profile>(world.Link).ToList().Count, "each document once");
        await world.Client.DeleteDocumentCollectionAsync(roomy.Links[0]);
        // A rule that four kilobytes are enough makes several.
        var tight = new SpilloverResolver(world.Client, world.Link, container => container.CollectionSizeUsage >= 4);
        world.Client.PartitionResolvers[world.Link] = tight;
        await world.Fill(200);
        Check.That(tight.Links.Count > 1, "full containers spill over");
        Check.Equal(200, world.Client.CreateDocumentQuery<Profile>(world.Link).ToList().Count, "each document once");
    }

    public static async Task SerialisedState(World world)
    {
        var links = await world.Containers(3);
        var resolver = new HashPartitionResolver("UserId", links);
        var state = await world.Container("state");
        var json = JsonConvert.SerializeObject(resolver);
        await world.Client.CreateDocumentAsync(state, new { id = "resolver", json });
        var text = world.Client.CreateDocumentQuery<Document>(state, "SELECT * FROM c WHERE c.id = 'resolver'")
            .AsEnumerable().Single().GetPropertyValue<string>("json");
        var parts = JObject.Parse(text);
        var revived = new HashPartitionResolver(
            (string)parts["PartitionKeyPropertyName"],
            parts["CollectionLinks"].ToObject<List<string>>(),
            (int)parts["NumberOfVirtualNodesPerCollection"]);
        for (var n = 0; n < 1000; n++)
            Check.Equal(resolver.ResolveForCreate($"user {n}"), revived.ResolveForCreate($"user {n}"), $"user {n}");
        await IsSpreadAndFound(world, revived, links);
    }
}
