package verifiable;

import java.util.List;
import java.util.Map;

/** A command from the harness. */
sealed interface Command {
    /** The number that its response repeats. */
    long id();

    /** Build the client. {@code own} has settings under its own names. */
    record Configure(long id, Map<String, Object> config, Map<String, Object> own)
            implements Command {}

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

    /** Wait until everything sent before has a result. */
    record Flush(long id, long timeoutMs) implements Command {}

    /** Close the client and end. */
    record Close(long id, long timeoutMs) implements Command {}

    /** A command that this library does not know. */
    record Unknown(long id, String name) implements Command {}
}
