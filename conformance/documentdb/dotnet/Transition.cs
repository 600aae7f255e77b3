using Microsoft.Azure.Documents.Client;
using Microsoft.Azure.Documents.Partitioning;

static class Transition
{
    const int Documents = 1000;

    public static async Task ThereAndBack(World world)
    {
        var four = await world.Containers(4);
        var three = four.Take(3).ToList();
        var narrow = new HashPartitionResolver("UserId", three);
        var wide = new HashPartitionResolver("UserId", four);
        world.Client.PartitionResolvers[world.Link] = narrow;
        await world.Fill(Documents);
        await IsWhole(world, narrow, four);

        var moved = await Move(world, narrow, wide, four);
        Check.That(moved > Documents / 8 && moved < Documents / 2, $"about a quarter moves, not {moved}");
        await IsWhole(world, wide, four);

        var back = await Move(world, wide, narrow, four);
        Check.Equal(moved, back, "the same documents move back");
        await IsWhole(world, narrow, four);
        Check.Equal(0, (await world.All(four[3])).Count, "documents in the container that is given up");
    }

    /// <summary>Copies what has another place and deletes it from the old one, while reads look into both.</summary>
    static async Task<int> Move(World world, IPartitionResolver before, IPartitionResolver after, List<string> links)
    {
        world.Client.PartitionResolvers[world.Link] = new TransitionResolver(before, after);
        var moved = 0;
        foreach (var link in links)
        {
            foreach (var document in await world.All(link))
            {
                var place = after.ResolveForCreate(after.GetPartitionKey(document));
                if (place == link) continue;
                await world.Client.UpsertDocumentAsync(place, document);
                if (moved % 100 == 0)
                {
                    var seen = world.Client.CreateDocumentQuery<Profile>(world.Link, null, document.UserId)
                        .Where(it => it.UserId == document.UserId).ToList();
                    Check.That(seen.Count >= 1, "a document that moves is never gone");
                }
                await world.Client.DeleteDocumentAsync(document.SelfLink);
                moved++;
            }
        }
        world.Client.PartitionResolvers[world.Link] = after;
        return moved;
    }

    /// <summary>Every document is there once, in its place.</summary>
    static async Task IsWhole(World world, IPartitionResolver resolver, List<string> links)
    {
        var seen = new HashSet<string>();
        foreach (var link in links)
        {
            foreach (var document in await world.All(link))
            {
                Check.That(seen.Add(document.Id), $"{document.Id} is there once");
                Check.Equal(link, resolver.ResolveForCreate(resolver.GetPartitionKey(document)), document.Id);
            }
        }
        Check.Equal(Documents, seen.Count, "documents");
    }
}
