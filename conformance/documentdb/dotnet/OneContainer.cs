using System.Net;
using Microsoft.Azure.Documents;
using Microsoft.Azure.Documents.Client;
using Microsoft.Azure.Documents.Linq;

/// <summary>A container without a partition key, as programs of its time use it.</summary>
static class OneContainer
{
    public static async Task Documents(World world)
    {
        var container = await world.Container("c");
        var created = (await world.Client.CreateDocumentAsync(container, Profile.Number(1))).Resource;
        var byName = UriFactory.CreateDocumentUri(world.Database.Id, "c", "p1");
        Check.Equal("p1", (await world.Client.ReadDocumentAsync(byName)).Resource.Id, "by name");
        Check.Equal("p1", (await world.Client.ReadDocumentAsync(created.SelfLink)).Resource.Id, "by link");
        var replaced = (await world.Client.ReplaceDocumentAsync(created.SelfLink, Profile.Number(1))).Resource;
        try
        {
            var stale = new AccessCondition { Type = AccessConditionType.IfMatch, Condition = created.ETag };
            await world.Client.ReplaceDocumentAsync(byName, Profile.Number(1), new RequestOptions { AccessCondition = stale });
            Check.That(false, "a stale etag is refused");
        }
        catch (DocumentClientException refused) when (refused.StatusCode == HttpStatusCode.PreconditionFailed)
        {
        }
        Check.Equal(1, (await world.Client.ReadDocumentFeedAsync(container)).Count, "documents in the feed");
        await world.Client.DeleteDocumentAsync(replaced.SelfLink);
        Check.Equal(0, (await world.Client.ReadDocumentFeedAsync(container)).Count, "documents in the feed");
    }

    public static async Task Queries(World world)
    {
        var container = await world.Container("c");
        for (var n = 0; n < 50; n++) await world.Client.CreateDocumentAsync(container, Profile.Number(n));
        var profiles = () => world.Client.CreateDocumentQuery<Profile>(container);
        Check.Equal(50, profiles().Count(), "COUNT");
        Check.Equal(Enumerable.Range(0, 50).Max(n => n * 7 % 1000), profiles().Max(it => it.Visits), "MAX");
        var top = profiles().OrderByDescending(it => it.Visits).Take(3).ToList().Select(it => it.Visits);
        Check.Equal("343,336,329", string.Join(",", top), "ORDER BY with TOP");
        var bonn = new SqlQuerySpec("SELECT VALUE c.Visits FROM c WHERE c.City = @city ORDER BY c.Visits",
            new SqlParameterCollection { new SqlParameter("@city", "Bonn") });
        var query = world.Client.CreateDocumentQuery<int>(container, bonn, new FeedOptions { MaxItemCount = 3 }).AsDocumentQuery();
        var visits = new List<int>();
        while (query.HasMoreResults) visits.AddRange(await query.ExecuteNextAsync<int>());
        Check.Equal("7,56,105,154,203,252,301", string.Join(",", visits), "ORDER BY over pages");
    }

    public static async Task Procedures(World world)
    {
        var container = await world.Container("c");
        var body = @"function (count) {
            var items = getContext().getCollection(), done = 0;
            function next() {
                if (done == count) return getContext().getResponse().setBody(done);
                if (!items.createDocument(items.getSelfLink(), { id: 'made ' + done }, function (error) {
                    if (error) throw error;
                    done++;
                    next();
                })) getContext().getResponse().setBody(done);
            }
            next();
        }";
        var made = await world.Client.CreateStoredProcedureAsync(container, new StoredProcedure { Id = "fill", Body = body });
        var answer = await world.Client.ExecuteStoredProcedureAsync<int>(made.Resource.SelfLink, 25);
        Check.Equal(25, answer.Response, "documents that the procedure made");
        var byName = UriFactory.CreateDocumentUri(world.Database.Id, "c", "made 24");
        Check.Equal("made 24", (await world.Client.ReadDocumentAsync(byName)).Resource.Id, "the last of them");
    }

    public static async Task PerformanceLevels(World world)
    {
        var definition = new DocumentCollection { Id = "levels" };
        var made = await world.Client.CreateDocumentCollectionAsync(world.Link, definition, new RequestOptions { OfferType = "S2" });
        Offer Current() => world.Client.CreateOfferQuery()
            .Where(it => it.ResourceLink == made.Resource.SelfLink).AsEnumerable().Single();
        Check.Equal("S2", Current().OfferType, "the level that was asked for");
        var raised = Current();
        raised.OfferType = "S3";
        Check.Equal("S3", (await world.Client.ReplaceOfferAsync(raised)).Resource.OfferType, "another level");
        var number = (OfferV2)(await world.Client.ReplaceOfferAsync(new OfferV2(Current(), 1200))).Resource;
        Check.Equal(1200, number.Content.OfferThroughput, "request units instead of a level");
    }
}
