package verifiable;

import java.util.List;
import java.util.Map;

/** What the harness may ask for. */
sealed interface Command {
    /** The number by which it is answered. */
    long id();

    /** Build the client. */
    record Configure(long id, Map<String, Object> config) implements Command {}

    /** Send records, numbered from {@code first}; no partitions leave the choice to the client. */
    record Produce(
            long id,
            String topic,
            long first,
            List<String> keys,
            List<String> values,
            List<Long> partitions)
            implements Command {

        /** Where the n-th is to go, null for where the client wants it. */
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
