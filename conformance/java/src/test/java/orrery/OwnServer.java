package orrery;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/** A server of one test, which may be killed, stopped for a while and started again on the same port and data. */
final class OwnServer implements AutoCloseable {
    /** The server's program. */
    static final String BINARY = Server.env("ORRERY_BINARY", "");

    private final Path folder = Files.createTempDirectory("orrery");
    final int port = freePort();
    private Process process;

    OwnServer() throws Exception {
        start();
    }

    void start() throws IOException {
        List<String> words = List.of(
                BINARY, "serve", "--port", "" + port, "--data", folder.toString(), "--log", "warn");
        ProcessBuilder builder = new ProcessBuilder(words).redirectError(ProcessBuilder.Redirect.INHERIT);
        builder.environment().keySet().removeIf(name -> name.startsWith("ORRERY_"));
        process = builder.start();
        BufferedReader lines = new BufferedReader(new InputStreamReader(process.getInputStream()));
        String line;
        do {
            line = lines.readLine();
            Server.check(line != null, "the server ended before it was ready");
        } while (!line.startsWith("ready"));
    }

    /** No chance to say goodbye. */
    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    /** Sockets stay open, and nobody answers. */
    CompletableFuture<Void> beSilent(long milliseconds) {
        signal("-STOP");
        return CompletableFuture.runAsync(() -> {
            GrowthWork.pause(milliseconds);
            signal("-CONT");
        });
    }

    private void signal(String name) {
        try {
            new ProcessBuilder("kill", name, "" + process.pid()).start().waitFor();
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
    }

    @Override
    public void close() throws Exception {
        kill();
        try (Stream<Path> paths = Files.walk(folder)) {
            paths.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
        }
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }
}
