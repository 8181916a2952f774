package verifiable;

/**
 * Receives the result of one record. It is created just before the record is passed to the client.
 */
public final class Result {
    private static final int UNKNOWN = -1;

    private final Results results;
    private final long id;
    private final long record;
    private final long invokeNs = System.nanoTime();

    Result(Results results, long id, long record) {
        this.results = results;
        this.id = id;
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
        results.add(
                id,
                new Results.Row(
                        outcome, error, invokeNs, System.nanoTime(), record, partition, offset));
    }
}
