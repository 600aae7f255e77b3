using Microsoft.Azure.Cosmos;
using Microsoft.Azure.Cosmos.Linq;
using Newtonsoft.Json;

/// What the SDK makes of LINQ must give the rows that LINQ gives over a list in memory.
static class Linq
{
    public sealed class Line
    {
        [JsonProperty("sku")] public string Sku { get; set; }
        [JsonProperty("n")] public int N { get; set; }
    }

    public sealed class Address
    {
        [JsonProperty("city")] public string City { get; set; }
    }

    public sealed class Order
    {
        [JsonProperty("id")] public string Id { get; set; }
        [JsonProperty("pk")] public string Pk { get; set; }
        [JsonProperty("total")] public double Total { get; set; }
        [JsonProperty("isPaid")] public bool IsPaid { get; set; }
        [JsonProperty("group")] public int Group { get; set; }
        [JsonProperty("address")] public Address Address { get; set; }
        [JsonProperty("lines")] public List<Line> Lines { get; set; }
    }

    static readonly string[] Cities = { "Oslo", "Lima", "Rome" };

    static List<Order> Orders() => Enumerable.Range(0, 40).Select(n => new Order
    {
        Id = $"o{n:00}",
        Pk = "k" + n % 12,
        Total = n * 1.5,
        IsPaid = n % 2 == 0,
        Group = n % 4,
        Address = new Address { City = Cities[n % 3] },
        Lines = Enumerable.Range(0, n % 3).Select(i => new Line { Sku = "s" + i, N = n + i }).ToList(),
    }).ToList();

    static async Task<Container> Filled(World world)
    {
        var container = await world.Container(units: 25000);
        await Task.WhenAll(Orders().Select(order => container.CreateItemAsync(order, new PartitionKey(order.Pk))));
        return container;
    }

    static async Task<List<T>> Rows<T>(IQueryable<T> query)
    {
        var rows = new List<T>();
        using var iterator = query.ToFeedIterator();
        while (iterator.HasMoreResults)
        {
            rows.AddRange(await iterator.ReadNextAsync());
        }
        return rows;
    }

    /// The same question to the server and to the list; `isOrdered` says whether the order of the rows counts.
    static async Task Agree<T>(Container container, string words, Func<IQueryable<Order>, IQueryable<T>> ask, bool isOrdered = false)
    {
        var found = (await Rows(ask(container.GetItemLinqQueryable<Order>()))).Select(row => JsonConvert.SerializeObject(row));
        var expected = ask(Orders().AsQueryable()).ToList().Select(row => JsonConvert.SerializeObject(row));
        if (!isOrdered)
        {
            (found, expected) = (found.Order(), expected.Order());
        }
        Claim.Same(string.Join("\n", expected), string.Join("\n", found), words);
    }

    public static async Task Filters(World world)
    {
        var container = await Filled(world);
        var some = new[] { "o01", "o05", "nobody" };
        await Agree(container, "Where", orders => orders.Where(it => it.Total > 20 && it.IsPaid || it.Group == 3));
        await Agree(container, "Contains", orders => orders.Where(it => some.Contains(it.Id)).Select(it => it.Id));
        await Agree(container, "a nested name", orders => orders.Where(it => it.Address.City == "Oslo").Select(it => it.Id));
        await Agree(container, "texts", orders => orders.Where(it => it.Id.StartsWith("o1") && it.Address.City.Contains("om")).Select(it => it.Id));
        await Agree(container, "lower case", orders => orders.Where(it => it.Address.City.ToLower() == "lima").Select(it => it.Id));
        await Agree(container, "a condition in a row", orders => orders.Select(it => it.IsPaid ? it.Total : -1));
        await Agree(container, "arithmetic", orders => orders.Where(it => Math.Floor(it.Total) % 2 == 1).Select(it => it.Id));
        await Agree(container, "Any", orders => orders.Where(it => it.Lines.Any(line => line.N > 20)).Select(it => it.Id));
    }

    public static async Task Shapes(World world)
    {
        var container = await Filled(world);
        await Agree(container, "Select", orders => orders.Select(it => new { it.Id, Where = it.Address.City, Twice = it.Total * 2 }));
        await Agree(container, "SelectMany", orders => orders.SelectMany(it => it.Lines).Select(line => line.N));
        await Agree(container, "SelectMany with its order",
            orders => orders.SelectMany(it => it.Lines.Where(line => line.Sku == "s1").Select(line => new { it.Id, line.N })));
        await Agree(container, "a count inside", orders => orders.Select(it => new { it.Id, N = it.Lines.Count() }));
        await Agree(container, "Distinct", orders => orders.Select(it => it.Address.City).Distinct());
    }

    public static async Task OrdersAndParts(World world)
    {
        var container = await Filled(world);
        await Agree(container, "OrderBy", orders => orders.OrderBy(it => it.Total).Select(it => it.Id), true);
        await Agree(container, "OrderByDescending", orders => orders.OrderByDescending(it => it.Id).Take(7).Select(it => it.Id), true);
        await Agree(container, "Skip, Take", orders => orders.OrderBy(it => it.Total).Skip(5).Take(4).Select(it => it.Total), true);
        await Agree(container, "with a filter", orders => orders.Where(it => it.IsPaid).OrderBy(it => it.Id).Take(3), true);
    }

    public static async Task Aggregates(World world)
    {
        var container = await Filled(world);
        var list = Orders();
        var orders = container.GetItemLinqQueryable<Order>();
        Claim.Same(40, (await orders.CountAsync()).Resource, "Count");
        Claim.Same(10, (await orders.Where(it => it.Group == 1).CountAsync()).Resource, "Count of some");
        Claim.Same(list.Sum(it => it.Total), (await orders.Select(it => it.Total).SumAsync()).Resource, "Sum");
        Claim.Same(list.Average(it => it.Total), (await orders.Select(it => it.Total).AverageAsync()).Resource, "Average");
        Claim.Same(list.Max(it => it.Total), (await orders.Select(it => it.Total).MaxAsync()).Resource, "Max");
        Claim.Same(0, (await orders.Select(it => it.Group).MinAsync()).Resource, "Min");
    }

    /// A blocking enumeration, which the SDK must be asked for, and one partition only.
    public static async Task OnePartition(World world)
    {
        var container = await Filled(world);
        var options = new QueryRequestOptions { PartitionKey = new PartitionKey("k3") };
        var orders = container.GetItemLinqQueryable<Order>(allowSynchronousQueryExecution: true, requestOptions: options);
        Claim.Same("o03,o15,o27,o39", string.Join(",", orders.OrderBy(it => it.Id).Select(it => it.Id).ToList()), "one key");
        Claim.Same(2, orders.Where(it => it.Id.CompareTo("o15") > 0).Count(), "its count");
    }
}
