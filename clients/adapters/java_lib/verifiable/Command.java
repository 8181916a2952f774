package verifiable;

import java.util.List;
import java.util.Map;

/** A command from the harness. */
sealed interface Command {
    /** The number that its response repeats. */
    long id();

    /** Build the client. {@code own} has settings under its own names. */
    record Configure(long id, String role, Map<String, Object> config, Map<String, Object> own)
            implements Command {
        boolean isConsumer() {
            return role.equals("consumer");
        }
    }

    /** Send records, numbered from {@code first}. Without partitions, the client chooses. */
    record Produce(
            long id,
            String topic,
            long first,
            List<String> keys,
            List<String> values,
            List<Long> partitions)
            implements Command {

        /** The partition of the n-th record, or null if the client chooses. */
        Integer partition(int n) {
            return partitions == null ? null : Math.toIntExact(partitions.get(n));
        }
    }

    /**
     * Send records in one transaction, and end it with {@code end}. With {@code flush}, they have a
     * result before.
     */
    record Transact(Produce records, String end, boolean flush) implements Command {
        @Override
        public long id() {
            return records.id();
        }

        boolean isCommit() {
            return end.equals("commit");
        }
    }

    /** Wait until everything sent before has a result. */
    record Flush(long id, long timeoutMs) implements Command {}

    /** Close the client and end. */
    record Close(long id, long timeoutMs) implements Command {}

    /** A command that this library does not know. */
    record Unknown(long id, String name) implements Command {}

    /** A call of the application that consumes. Its op is its name. */
    sealed interface ForConsumer extends Command {
        default String op() {
            return getClass().getSimpleName().toLowerCase(java.util.Locale.ROOT);
        }
    }

    /** Subscribe to topics, or to a pattern that is not null, and poll. */
    record Subscribe(
            long id, List<String> topics, String pattern, String commit, long processingMs)
            implements ForConsumer {}

    /** Assign partitions, and poll. */
    record Assign(long id, List<Position> partitions, String commit, long processingMs)
            implements ForConsumer {}

    /** Give up subscription and assignment. */
    record Unsubscribe(long id) implements ForConsumer {}

    /** Set the position of a partition. */
    record Seek(long id, Position position) implements ForConsumer {}

    /** Pause partitions. */
    record Pause(long id, List<Place> partitions) implements ForConsumer {}

    /** Resume partitions. */
    record Resume(long id, List<Place> partitions) implements ForConsumer {}

    /** Commit what was processed, "sync" or "async". */
    record Commit(long id, String how) implements ForConsumer {}

    /** Make a call that the client may refuse: "assign" or "poll". */
    record Attempt(long id, String call, List<Position> partitions) implements ForConsumer {}

    /** Work {@code processingMs} on what each turn takes. */
    record Process(long id, long processingMs) implements ForConsumer {}

    /** Throw in the next calls of a callback of the listener. */
    record Throw(long id, String callback, long times) implements ForConsumer {}

    /** Interrupt the poll. */
    record Wakeup(long id) implements ForConsumer {}
}
