package verifiable;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What a member processed, and its commits. */
final class Commits {
    private final ConsumerAdapter consumer;
    private final ConsumerEvents events;
    private final Map<Place, Position> processed = new LinkedHashMap<>();

    Commits(ConsumerAdapter consumer, ConsumerEvents events) {
        this.consumer = consumer;
        this.events = events;
    }

    /** The records were processed. */
    void processed(List<Batch> batches) {
        batches.forEach(batch -> processed.put(batch.place(), batch.next()));
    }

    /** These partitions have nothing to commit: they were given up, or their position was set. */
    void forget(List<Place> partitions) {
        processed.keySet().removeAll(partitions);
    }

    void forgetAll() {
        processed.clear();
    }

    /** The positions after everything that was processed. */
    List<Position> processed() {
        return List.copyOf(processed.values());
    }

    /** The positions after these records. */
    static List<Position> after(List<Batch> batches) {
        return batches.stream().map(Batch::next).toList();
    }

    /** Commit and report the result. Throws the client's exception. */
    void sync(List<Position> offsets) {
        long invokeNs = System.nanoTime();
        try {
            consumer.commitSync(offsets);
        } catch (UnsupportedOperationException error) {
            throw error;
        } catch (RuntimeException error) {
            events.committed(offsets, "sync", invokeNs, error);
            throw error;
        }
        events.committed(offsets, "sync", invokeNs, null);
    }

    /** Commit, and report the result when it is known. Throws the client's exception. */
    void async(List<Position> offsets) {
        long invokeNs = System.nanoTime();
        consumer.commitAsync(
                offsets, error -> events.committed(offsets, "async", invokeNs, error));
    }
}
