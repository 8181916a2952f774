package verifiable;

/**
 * The transactions of a client's producer. Each call waits at most as long as max.block.ms, or as
 * the client's own limit, and throws the client's exception.
 */
public interface TransactionAdapter {
    /** Prepare the producer for transactions. */
    void initTransactions();

    /** Begin a transaction. */
    void beginTransaction();

    /** Commit the transaction, after all of its records have a result. */
    void commitTransaction();

    /** Abort the transaction. */
    void abortTransaction();

    /** What the client lets the application do after an error of these calls. */
    WayOut wayOut(RuntimeException error);

    /** The client's own name for an error of these calls. */
    default String nameOf(RuntimeException error) {
        return error.getClass().getSimpleName();
    }

    /** Close the producer without waiting, and build another one with the same settings. */
    void renew();

    /** What an application may do after an error of a transaction. */
    enum WayOut {
        /** Make the same call again. */
        REPEAT("info"),
        /** Abort the transaction: the client says that the call did not have its effect. */
        ABORT("fail"),
        /** Close the producer, and go on with another one of the same transactional id. */
        CLOSE("info");

        /** What it tells about the call. */
        final String outcome;

        WayOut(String outcome) {
            this.outcome = outcome;
        }
    }
}
