using Microsoft.Azure.Cosmos;
using System.Collections.ObjectModel;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

static class Queries
{
    public static async Task WithoutFrom(World world)
    {
        var container = await world.Container(units: 25000);
        var rows = await Claim.All<int>(container, "SELECT VALUE 1");
        Claim.Same(1, rows.Single(), "one row");
    }

    public static async Task NumberTexts(World world)
    {
        var container = await world.Container();
        await container.CreateItemAsync(Claim.Item("1", "a", new { n = new JRaw("0.0"), m = new JRaw("1.50") }));
        var rows = await Claim.All<JArray>(container, "SELECT VALUE [ToString(c.n), ToString(c.m), ToString([c.m])] FROM c");
        Claim.Same("[\"0\",\"1.5\",\"[1.5]\"]", rows.Single().ToString(Formatting.None), "texts");
    }

    public static async Task ControlCharacters(World world)
    {
        var container = await world.Container();
        await container.CreateItemAsync(Claim.Item("1", "a", new { s = "x\ty" }));
        var rows = await Claim.All<string>(container, "SELECT VALUE c.id FROM c WHERE c.s = \"x\ty\"");
        Claim.Same("1", rows.Single(), "found by its tab");
    }

    public static async Task Merged(World world)
    {
        var container = await world.Container(units: 25000);
        for (var i = 0; i < 40; i++)
        {
            await container.CreateItemAsync(Claim.Item("i" + i, "k" + i, new { n = i, g = i % 4 }));
        }
        Claim.Same(40, (await Claim.All<int>(container, "SELECT VALUE COUNT(1) FROM c")).Single(), "COUNT");
        Claim.Same(780, (await Claim.All<int>(container, "SELECT VALUE SUM(c.n) FROM c")).Single(), "SUM");
        Claim.Same(19.5, (await Claim.All<double>(container, "SELECT VALUE AVG(c.n) FROM c")).Single(), "AVG");
        Claim.Same(4, (await Claim.All<int>(container, "SELECT DISTINCT VALUE c.g FROM c")).Count, "DISTINCT");
        var groups = await Claim.All<JObject>(container, "SELECT c.g, COUNT(1) AS n FROM c GROUP BY c.g");
        Claim.That(groups.Count == 4 && groups.All(group => (int)group["n"] == 10), "GROUP BY");
        var top = await Claim.All<int>(container, "SELECT TOP 3 VALUE c.n FROM c ORDER BY c.n DESC");
        Claim.Same("39,38,37", string.Join(",", top), "TOP");
        var part = await Claim.All<int>(container, "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 5 LIMIT 3");
        Claim.Same("5,6,7", string.Join(",", part), "OFFSET LIMIT");
    }

    public static async Task RankOfAll(World world)
    {
        var properties = new ContainerProperties("c", "/pk")
        {
            FullTextPolicy = new FullTextPolicy
            {
                DefaultLanguage = "en-US",
                FullTextPaths = new Collection<FullTextPath> { new FullTextPath { Path = "/t", Language = "en-US" } },
            },
        };
        properties.IndexingPolicy.FullTextIndexes.Add(new FullTextIndexPath { Path = "/t" });
        Container container = await world.Database.CreateContainerAsync(properties, 400);
        for (var i = 0; i < 150; i++)
        {
            await container.CreateItemAsync(Claim.Item("i" + i, "k" + i, new { t = "the quick fox number " + i }));
        }
        var rows = await Claim.All<JObject>(container, "SELECT c.id FROM c ORDER BY RANK FullTextScore(c.t, 'fox')");
        Claim.Same(150, rows.Count, "all rows");
    }
}
