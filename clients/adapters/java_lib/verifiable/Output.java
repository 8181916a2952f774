package verifiable;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.time.Instant;

/**
 * Writes events, numbered without gaps, to a private stdout. All other output goes to stderr.
 *
 * <p>Their clock is {@code nanoTime()}: CLOCK_MONOTONIC on Linux, the common time base of clients,
 * witness and faults.
 */
final class Output {
    private static final long NS_PER_S = 1_000_000_000;

    private final OutputStream stdout = new FileOutputStream(FileDescriptor.out);
    private long seq;
    private boolean ended;

    Output() {
        System.setOut(new PrintStream(new FileOutputStream(FileDescriptor.err), true));
    }

    /** Write one event. Nothing is written after the last one. */
    void event(String name, Fields fields) {
        write(name, fields, false);
    }

    /** Write the last event. */
    void lastEvent(String name, Fields fields) {
        write(name, fields, true);
    }

    private synchronized void write(String name, Fields fields, boolean last) {
        if (ended) {
            return;
        }
        ended = last;
        Instant now = Instant.now();
        Fields event = new Fields().with("name", name).with("seq", seq++);
        event.with("mono_ns", System.nanoTime());
        event.with("wall_ns", now.getEpochSecond() * NS_PER_S + now.getNano());
        try {
            stdout.write(Json.line(event.with(fields).values()));
        } catch (IOException error) {
            // The harness has exited, so nothing reads the events.
            Runtime.getRuntime().halt(1);
        }
    }
}
