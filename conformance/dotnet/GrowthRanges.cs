using Newtonsoft.Json.Linq;

/// The ranges of one container, as an operator sees and moves them over the management API.
sealed class GrowthRanges
{
    public const int Max = 16;
    public const int Min = 2;

    /// Between two relocations: time for a reader to go on in the new ranges.
    static readonly TimeSpan Breath = TimeSpan.FromMilliseconds(250);

    readonly string path;

    public GrowthRanges(string database, string container)
    {
        path = $"/_orrery/dbs/{database}/colls/{container}/ranges";
    }

    /// In the order of the hash space.
    public async Task<List<string>> Ids()
    {
        var ranges = JObject.Parse(await World.Send(HttpMethod.Get, path))["ranges"];
        return ranges.OrderBy(it => (string)it["min"], StringComparer.Ordinal).Select(it => it["id"].ToString()).ToList();
    }

    /// Splits ranges, so that there are twice as many, up to the maximum.
    public async Task Grow()
    {
        var ids = await Ids();
        foreach (var id in ids.Take(Max - ids.Count))
        {
            await Relocate($"/{id}/split", new JObject());
        }
    }

    /// Merges neighbours, so that there are half as many, down to the minimum.
    public async Task Shrink()
    {
        var ids = await Ids();
        var pairs = ids.Chunk(2).Where(it => it.Length == 2).Take(ids.Count - Min);
        foreach (var pair in pairs)
        {
            await Relocate("/merge", new JObject { ["ranges"] = new JArray(pair) });
        }
    }

    async Task Relocate(string more, JObject body)
    {
        body["wait"] = true;
        var ended = JObject.Parse(await World.Send(HttpMethod.Post, path + more, body.ToString()));
        Claim.Same("done", (string)ended["end"], ended.ToString());
        await Task.Delay(Breath);
    }
}
