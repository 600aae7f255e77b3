// Programs in the manner of the articles on client-side partitioning, with the SDK of their time.
// Each is a claim: `ok NAME` or `not ok NAME`, and the process ends with the number of failures.
using Microsoft.Azure.Documents.Client;

var endpoint = new Uri(Environment.GetEnvironmentVariable("ORRERY_ENDPOINT") ?? "http://127.0.0.1:8081/");
// The key that every emulator of this protocol starts with; it protects nothing.
var key = Environment.GetEnvironmentVariable("ORRERY_KEY")
    ?? "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";
// In direct mode the SDK checks the certificate of the server, and cannot be told not to: SSL_CERT_FILE may name one that is trusted.
var isDirect = Environment.GetEnvironmentVariable("ORRERY_CONNECTION_MODE") == "direct";
var policy = new ConnectionPolicy
{
    ConnectionMode = isDirect ? ConnectionMode.Direct : ConnectionMode.Gateway,
    ConnectionProtocol = isDirect ? Protocol.Tcp : Protocol.Https,
};

var claims = new (string Name, Func<World, Task> Check)[]
{
    ("a hash resolver spreads documents and finds them", Partitioning.Hash),
    ("a range resolver keeps neighbours together", Partitioning.Ranges),
    ("a lookup resolver follows its table", Partitioning.Lookup),
    ("a managed resolver makes the containers that it names", Partitioning.Managed),
    ("a spillover resolver goes by quota and usage", Partitioning.Spillover),
    ("the state of a resolver survives in a document", Partitioning.SerialisedState),
    ("a thousand documents move from three containers to four and back", Transition.ThereAndBack),
    ("documents need no key, by name and by link", OneContainer.Documents),
    ("queries need neither a key nor leave to cross partitions", OneContainer.Queries),
    ("a stored procedure runs without a key", OneContainer.Procedures),
    ("performance levels are kept and become request units", OneContainer.PerformanceLevels),
    ("attachments link to media, by name and by link", Attachments.Links),
    ("the server keeps media of attachments", Attachments.Media),
};

var failures = 0;
foreach (var (name, check) in claims)
{
    var anyCertificate = new HttpClientHandler { ServerCertificateCustomValidationCallback = (_, _, _, _) => true };
    using var client = new DocumentClient(endpoint, key, anyCertificate, policy);
    var world = await World.Create(client);
    try
    {
        await check(world);
        Console.WriteLine($"ok {name}");
    }
    catch (Exception problem)
    {
        failures++;
        Console.WriteLine($"not ok {name}");
        Console.WriteLine(problem);
    }
    await world.Delete();
}
return failures;
