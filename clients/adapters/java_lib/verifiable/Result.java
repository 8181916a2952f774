package verifiable;

import java.util.function.Consumer;

/**
 * Receives the result of one record. It is created just before the record is passed to the client.
 */
public final class Result {
    static final int UNKNOWN = -1;

    private final Consumer<Results.Row> receiver;
    private final long record;
    private final long invokeNs = System.nanoTime();

    Result(Consumer<Results.Row> receiver, long record) {
        this.receiver = receiver;
        this.record = record;
    }

    /** Certainly written. The offset is -1 if the client does not know it. */
    public void ok(int partition, long offset) {
        put("ok", null, partition, offset);
    }

    /** Certainly not written, and never will be. */
    public void fail(String error) {
        put("fail", error, UNKNOWN, UNKNOWN);
    }

    /** Given up. It is unknown whether the record was written. */
    public void info(String error) {
        put("info", error, UNKNOWN, UNKNOWN);
    }

    private void put(String outcome, String error, int partition, long offset) {
        receiver.accept(
                new Results.Row(
                        outcome, error, invokeNs, System.nanoTime(), record, partition, offset));
    }
}
