package orrery;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.List;

/** A way to a server whose connections can be cut. */
final class Proxy implements AutoCloseable {
    /** Who has got so much is past its handshakes. */
    private static final long OPENING_BYTES = 4096;

    private final ServerSocket listener = new ServerSocket(0, 100, InetAddress.getLoopbackAddress());
    private final List<Connection> open = new ArrayList<>();
    private final int target;

    Proxy(int target) throws IOException {
        this.target = target;
        start(this::accept);
    }

    int port() {
        return listener.getLocalPort();
    }

    /**
     * Ends connections in use with a reset; how many there were. Those that are opening are left alone: this SDK loses the
     * requests that wait for one, and their callers wait for ever.
     */
    synchronized int cut() throws IOException {
        int n = 0;
        for (Connection connection : List.copyOf(open)) {
            if (connection.nBytes > OPENING_BYTES) {
                open.remove(connection);
                connection.reset();
                n++;
            }
        }
        return n;
    }

    private synchronized void keep(Connection connection) {
        open.add(connection);
    }

    private void accept() throws IOException {
        while (true) {
            Socket near = listener.accept();
            Connection connection = new Connection(near, new Socket(InetAddress.getLoopbackAddress(), target));
            keep(connection);
            start(connection::copyThere);
            start(connection::copyBack);
        }
    }

    private static final class Connection {
        private final Socket near;
        private final Socket far;
        /** From the server to the client. */
        private volatile long nBytes;

        Connection(Socket near, Socket far) throws IOException {
            this.near = near;
            this.far = far;
            near.setTcpNoDelay(true);
            far.setTcpNoDelay(true);
        }

        void copyThere() throws IOException {
            try (near; far) {
                near.getInputStream().transferTo(far.getOutputStream());
            }
        }

        void copyBack() throws IOException {
            byte[] room = new byte[16 << 10];
            try (near; far) {
                InputStream from = far.getInputStream();
                OutputStream to = near.getOutputStream();
                for (int n = from.read(room); n > 0; n = from.read(room)) {
                    to.write(room, 0, n);
                    nBytes += n;
                }
            }
        }

        void reset() throws IOException {
            try (near; far) {
                near.setSoLinger(true, 0);
                far.setSoLinger(true, 0);
            } catch (SocketException gone) {
                // The other side was faster.
            }
        }
    }

    private interface Work {
        void run() throws IOException;
    }

    private static void start(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (IOException cut) {
                // It was cut, or the listener is closed.
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() throws IOException {
        listener.close();
        cut();
    }
}
