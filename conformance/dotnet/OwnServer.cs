using System.Diagnostics;
using System.Net;
using System.Net.Sockets;

/// A server of one claim, which may be killed, stopped for a while and started again on the same port and data.
sealed class OwnServer : IAsyncDisposable
{
    readonly string folder = Directory.CreateTempSubdirectory("orrery").FullName;
    Process process;

    public int Port { get; } = FreePort();

    public static async Task<OwnServer> Create()
    {
        var server = new OwnServer();
        await server.Start();
        return server;
    }

    public async Task Start()
    {
        var start = new ProcessStartInfo(World.Binary) { RedirectStandardOutput = true };
        foreach (var name in start.Environment.Keys.Where(it => it.StartsWith("ORRERY_")).ToList())
        {
            start.Environment.Remove(name);
        }
        foreach (var word in new[] { "serve", "--port", Port.ToString(), "--data", folder, "--log", "warn" })
        {
            start.ArgumentList.Add(word);
        }
        process = Process.Start(start);
        string line;
        do
        {
            line = await process.StandardOutput.ReadLineAsync();
            Claim.That(line != null, "the server ended before it was ready");
        } while (!line.StartsWith("ready"));
    }

    /// No chance to say goodbye.
    public async Task Kill()
    {
        process.Kill();
        await process.WaitForExitAsync();
    }

    /// Sockets stay open, and nobody answers.
    public async Task Silent(TimeSpan time)
    {
        await Signal("-STOP");
        await Task.Delay(time);
        await Signal("-CONT");
    }

    Task Signal(string name) => Process.Start("kill", new[] { name, process.Id.ToString() }).WaitForExitAsync();

    public async ValueTask DisposeAsync()
    {
        await Kill();
        Directory.Delete(folder, true);
    }

    static int FreePort()
    {
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        return ((IPEndPoint)listener.LocalEndpoint).Port;
    }
}

/// A way to the server whose connections can be cut.
sealed class Proxy : IDisposable
{
    readonly TcpListener listener = new(IPAddress.Loopback, 0);
    readonly List<TcpClient> open = new();
    readonly int target;

    public Proxy(int target)
    {
        this.target = target;
        listener.Start();
        _ = Accept();
    }

    public int Port => ((IPEndPoint)listener.LocalEndpoint).Port;

    /// Ends every connection with a reset; how many there were.
    public int Cut()
    {
        lock (open)
        {
            var n = open.Count / 2;
            open.ForEach(it => it.Client?.Close(0));
            open.Clear();
            return n;
        }
    }

    async Task Accept()
    {
        try
        {
            while (true)
            {
                var near = await listener.AcceptTcpClientAsync();
                var far = new TcpClient { NoDelay = true };
                near.NoDelay = true;
                await far.ConnectAsync(IPAddress.Loopback, target);
                lock (open) open.AddRange(new[] { near, far });
                _ = Copy(near, far);
                _ = Copy(far, near);
            }
        }
        catch (Exception)
        {
            // The listener is closed.
        }
    }

    static async Task Copy(TcpClient from, TcpClient to)
    {
        try
        {
            await from.GetStream().CopyToAsync(to.GetStream());
        }
        catch (Exception)
        {
            // Cut.
        }
        to.Close();
    }

    public void Dispose()
    {
        listener.Stop();
        Cut();
    }
}
