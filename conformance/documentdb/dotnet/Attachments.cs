using System.Net;
using System.Text;
using Microsoft.Azure.Documents;
using Microsoft.Azure.Documents.Client;
using Microsoft.Azure.Documents.Linq;

/// <summary>Attachments of documents, and the media that the server keeps for them.</summary>
static class Attachments
{
    static Attachment Link(string id, string media) => new() { Id = id, ContentType = "text/html", MediaLink = media };

    static MemoryStream Bytes(int count, int seed) =>
        new(Enumerable.Range(0, count).Select(n => (byte)(n * 31 + seed)).ToArray());

    static async Task<byte[]> All(Stream stream)
    {
        using var whole = new MemoryStream();
        await stream.CopyToAsync(whole);
        return whole.ToArray();
    }

    static async Task<Document> Review(World world)
    {
        var container = await world.Container("c");
        return (await world.Client.CreateDocumentAsync(container, Profile.Number(1))).Resource;
    }

    public static async Task Links(World world)
    {
        var review = await Review(world);
        var byName = UriFactory.CreateDocumentUri(world.Database.Id, "c", review.Id);
        var first = (await world.Client.CreateAttachmentAsync(review.SelfLink, Link("first", "http://elsewhere.invalid/1"))).Resource;
        await world.Client.CreateAttachmentAsync(byName, new { id = "second", contentType = "text/plain", media = "x", pages = 7 });
        await Refused(HttpStatusCode.Conflict, () => world.Client.CreateAttachmentAsync(byName, Link("first", "x")));
        first.MediaLink = "http://elsewhere.invalid/2";
        Check.Equal(first.ResourceId, (await world.Client.ReplaceAttachmentAsync(first)).Resource.ResourceId, "the same attachment");
        var upserted = await world.Client.UpsertAttachmentAsync(byName, Link("first", "http://elsewhere.invalid/3"));
        Check.Equal(HttpStatusCode.OK, upserted.StatusCode, "an upsert over an attachment");
        var read = await world.Client.ReadAttachmentAsync(UriFactory.CreateAttachmentUri(world.Database.Id, "c", review.Id, "first"));
        Check.Equal("http://elsewhere.invalid/3", read.Resource.MediaLink, "the link that was written last");
        var feed = await world.Client.ReadAttachmentFeedAsync(review.AttachmentsLink, new FeedOptions { MaxItemCount = 1 });
        Check.Equal("first", feed.Single().Id, "the first page");
        feed = await world.Client.ReadAttachmentFeedAsync(review.AttachmentsLink, new FeedOptions { RequestContinuation = feed.ResponseContinuation });
        Check.Equal("second", feed.Single().Id, "the last page");
        var html = world.Client.CreateAttachmentQuery<Attachment>(review.SelfLink).Where(it => it.ContentType == "text/html");
        Check.Equal("first", html.AsEnumerable().Single().Id, "found by its content type");
        var pages = world.Client.CreateAttachmentQuery<int>(byName, "SELECT VALUE a.pages FROM a WHERE a.pages > 1");
        Check.Equal(7, pages.AsEnumerable().Single(), "a property of the client's own");
        await world.Client.DeleteAttachmentAsync(first.SelfLink);
        await Refused(HttpStatusCode.NotFound, () => world.Client.ReadAttachmentAsync(first.SelfLink));
        await world.Client.DeleteDocumentAsync(review.SelfLink);
        await Refused(HttpStatusCode.NotFound, () => world.Client.ReadAttachmentFeedAsync(byName));
    }

    public static async Task Media(World world)
    {
        var review = await Review(world);
        var options = new MediaOptions { ContentType = "image/jpeg", Slug = "cover page" };
        var cover = (await world.Client.CreateAttachmentAsync(review.SelfLink, Bytes(300_000, 1), options)).Resource;
        Check.Equal("cover page", cover.Id, "the slug is the name");
        Check.Equal("image/jpeg", cover.ContentType, "the content type");
        var media = await world.Client.ReadMediaAsync(cover.MediaLink);
        Check.Equal("image/jpeg", media.ContentType, "the content type of the media");
        Check.That((await All(media.Media)).SequenceEqual(Bytes(300_000, 1).ToArray()), "the bytes that were sent");
        Check.Equal("cover page", media.Slug, "the name of the media");
        // The members of the answer for these stay 0 in this SDK.
        Check.Equal("2048", media.ResponseHeaders["x-ms-max-media-storage-usage-mb"], "what an account may keep");
        Check.Equal("1", media.ResponseHeaders["x-ms-media-storage-usage-mb"], "what it keeps");
        var metadata = await world.Client.ReadMediaMetadataAsync(cover.MediaLink);
        Check.Equal("image/jpeg 300000", $"{metadata.ContentType} {metadata.ContentLength}", "told without the bytes");
        await world.Client.UpdateMediaAsync(cover.MediaLink, Bytes(10, 2), new MediaOptions { ContentType = "image/png" });
        media = await world.Client.ReadMediaAsync(cover.MediaLink);
        Check.Equal("image/png", media.ContentType, "another content type");
        Check.That((await All(media.Media)).SequenceEqual(Bytes(10, 2).ToArray()), "other bytes");
        var again = await world.Client.UpsertAttachmentAsync(review.SelfLink, new MemoryStream(Encoding.UTF8.GetBytes("text")), new MediaOptions { ContentType = "text/plain", Slug = "cover page" });
        Check.Equal(cover.ResourceId, again.Resource.ResourceId, "the same attachment");
        media = await world.Client.ReadMediaAsync(again.Resource.MediaLink);
        Check.Equal("text", Encoding.UTF8.GetString(await All(media.Media)), "bytes of the upsert");
        await Refused(HttpStatusCode.BadRequest, () => world.Client.CreateAttachmentAsync(
            review.SelfLink, Bytes(1, 1), new MediaOptions { ContentType = "junt/test", Slug = "other" }));
        await world.Client.DeleteDocumentAsync(review.SelfLink);
        await Refused(HttpStatusCode.NotFound, () => world.Client.ReadMediaAsync(cover.MediaLink));
    }

    static async Task Refused(HttpStatusCode status, Func<Task> call)
    {
        try
        {
            await call();
        }
        catch (DocumentClientException refused)
        {
            Check.Equal(status, refused.StatusCode, "the status of a refusal");
            return;
        }
        Check.That(false, $"refused with {status}");
    }
}
