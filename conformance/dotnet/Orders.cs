using Microsoft.Azure.Cosmos;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

/// Each page has an iterator of its own, which begins with the token of the page before: every item comes exactly once.
static class Orders
{
    static readonly string[] Keys = { "v", "missing", "_ts", "w", "arr", "arrays", "obj", "big", "mixed" };

    public static async Task ResumedPageByPage(World world)
    {
        foreach (var units in new[] { 400, 25000 })
        {
            var container = await world.Container("c" + units, units);
            for (var i = 0; i < 20; i++)
            {
                await container.CreateItemAsync(Item(i));
            }
            foreach (var key in Keys)
            {
                await Resumed(container, key, "ASC");
                await Resumed(container, key, "DESC");
            }
        }
    }

    static async Task Resumed(Container container, string key, string direction)
    {
        var rows = await Claim.PageByPage<JObject>(container, $"SELECT * FROM c ORDER BY c.{key} {direction}", 2);
        var words = $"ORDER BY c.{key} {direction}";
        Claim.Same(20, rows.Count, words);
        Claim.Same(20, rows.Select(row => (string)row["id"]).Distinct().Count(), words);
        // Equal values stand together, or the ranges were not merged in order.
        var keys = rows.Select(row => row[key]?.ToString(Formatting.None)).ToList();
        var runs = keys.Where((text, i) => i == 0 || keys[i - 1] != text).Count();
        Claim.Same(keys.Distinct().Count(), runs, words + ", runs of equal values");
    }

    static JObject Item(int i)
    {
        JToken mixed = (i % 6) switch
        {
            0 => null,
            1 => true,
            2 => i,
            3 => "x",
            4 => new JArray(i),
            _ => new JObject { ["n"] = i },
        };
        return new JObject
        {
            ["id"] = i.ToString(),
            ["pk"] = "p" + i,
            ["v"] = 1,
            ["w"] = i % 3,
            ["arr"] = new JArray(1, 2),
            ["arrays"] = new JArray(i % 10),
            ["obj"] = new JObject { ["a"] = i % 4 + 0.5 },
            ["big"] = new JArray(9007199254740993L + i % 3),
            ["mixed"] = mixed,
        };
    }

    public static async Task PlainQueriesAcrossRanges(World world)
    {
        var container = await world.Container(units: 25000);
        for (var i = 0; i < 40; i++)
        {
            await container.CreateItemAsync(Claim.Item("i" + i, "p" + i, new { n = i }));
        }
        foreach (var size in new[] { 1, 3, 100 })
        {
            var rows = await Claim.PageByPage<int>(container, "SELECT VALUE c.n FROM c WHERE c.n >= 10", size);
            Claim.Same(30, rows.Count, $"{size} a page");
            Claim.Same(30, rows.Distinct().Count(), $"{size} a page");
        }
    }
}
