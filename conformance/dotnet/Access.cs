using System.Net;
using Microsoft.Azure.Cosmos;
using Newtonsoft.Json.Linq;

/// Users, permissions and what their tokens are good for.
static class Access
{
    public static async Task Users(World world)
    {
        var container = await world.Container();
        User user = await world.Database.CreateUserAsync("u");
        await Claim.Fails(HttpStatusCode.Conflict, () => world.Database.CreateUserAsync("u"));
        var permission = new PermissionProperties("p", PermissionMode.Read, container);
        var made = await user.CreatePermissionAsync(permission);
        Claim.That(made.Resource.Token.StartsWith("type=resource"), made.Resource.Token);
        Claim.Same(PermissionMode.Read, (await user.GetPermission("p").ReadAsync()).Resource.PermissionMode, "the mode");
        await user.GetPermission("p").ReplaceAsync(new PermissionProperties("p", PermissionMode.All, container));
        using var feed = user.GetPermissionQueryIterator<PermissionProperties>();
        Claim.Same(PermissionMode.All, (await feed.ReadNextAsync()).Single().PermissionMode, "in the feed");
        await user.GetPermission("p").DeleteAsync();
        await Claim.Fails(HttpStatusCode.NotFound, () => user.GetPermission("p").ReadAsync());
        using var users = world.Database.GetUserQueryIterator<UserProperties>("SELECT * FROM u");
        Claim.Same("u", (await users.ReadNextAsync()).Single().Id, "the users");
        await user.DeleteAsync();
    }

    static async Task<string> Token(World world, PermissionProperties permission)
    {
        User user = await world.Database.UpsertUserAsync("u");
        return (await user.UpsertPermissionAsync(permission)).Resource.Token;
    }

    public static async Task ResourceTokens(World world)
    {
        var container = await world.Container(units: 25000);
        var other = await world.Container("other");
        foreach (var key in new[] { "a", "b" })
        {
            await container.CreateItemAsync(Claim.Item("1", key));
            await other.CreateItemAsync(Claim.Item("1", key));
        }
        await May(world, await Token(world, new PermissionProperties("read", PermissionMode.Read, container)), async mine =>
        {
            Claim.Same("1", (await mine("c").ReadItemAsync<JObject>("1", new PartitionKey("a"))).Resource["id"].ToString(), "a read");
            Claim.Same(2, (await Claim.All<JObject>(mine("c"), "SELECT * FROM c")).Count, "a query");
            await Claim.Fails(HttpStatusCode.Forbidden, () => mine("c").CreateItemAsync(Claim.Item("2", "a"), new PartitionKey("a")));
            await Claim.Fails(HttpStatusCode.Forbidden, () => mine("other").ReadItemAsync<JObject>("1", new PartitionKey("a")));
        });
        var ofKey = new PermissionProperties("key", PermissionMode.All, container, new PartitionKey("a"));
        await May(world, await Token(world, ofKey), async mine =>
        {
            await mine("c").CreateItemAsync(Claim.Item("2", "a"), new PartitionKey("a"));
            var options = new QueryRequestOptions { PartitionKey = new PartitionKey("a") };
            Claim.Same(2, (await Claim.All<JObject>(mine("c"), "SELECT * FROM c", options)).Count, "of its key");
            await Claim.Fails(HttpStatusCode.Forbidden, () => mine("c").ReadItemAsync<JObject>("1", new PartitionKey("b")));
        });
    }

    static async Task May(World world, string token, Func<Func<string, Container>, Task> check)
    {
        using var client = World.Connect(token);
        await check(id => client.GetContainer(world.Database.Id, id));
    }

    public static async Task ReadOnlyKey(World world)
    {
        var container = await world.Container();
        await container.CreateItemAsync(Claim.Item("1", "a"), new PartitionKey("a"));
        using var client = World.Connect(World.ReadOnlyKey);
        var mine = client.GetContainer(world.Database.Id, "c");
        await mine.ReadItemAsync<JObject>("1", new PartitionKey("a"));
        Claim.Same(1, (await Claim.All<JObject>(mine, "SELECT * FROM c")).Count, "a query");
        await Claim.Fails(HttpStatusCode.Forbidden, () => mine.CreateItemAsync(Claim.Item("2", "a"), new PartitionKey("a")));
    }

    public static async Task WrongKey(World world)
    {
        await world.Container();
        using var client = World.Connect(Convert.ToBase64String(new byte[64]));
        var mine = client.GetContainer(world.Database.Id, "c");
        await Claim.Fails(HttpStatusCode.Unauthorized, () => mine.ReadItemAsync<JObject>("1", new PartitionKey("a")));
    }
}
