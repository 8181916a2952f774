package verifiable;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * The consumer of a client. One thread, the application's, calls all methods except {@link
 * #wakeup}.
 *
 * <p>A RuntimeException is the client's own, which the application survives. What a client cannot
 * do throws UnsupportedOperationException.
 */
public interface ConsumerAdapter {
    /**
     * Build the consumer. See {@link Adapter#configure(Map, Map, Map)}.
     *
     * @param listener what every rebalance calls, on the thread of the application
     */
    Adapter.Configured configure(
            Map<String, Object> config,
            Map<String, String> own,
            Map<String, String> ownNotSet,
            Listener listener)
            throws Adapter.ConfigRefused;

    /** Subscribe to topics. */
    void subscribe(List<String> topics);

    /** Subscribe to the topics that match a pattern. */
    void subscribePattern(String pattern);

    /** Assign partitions without a group. One with an offset other than -1 is read from there. */
    void assign(List<Position> partitions);

    /** Give up subscription and assignment. */
    void unsubscribe();

    /** Set the position of a partition. */
    void seek(Position position);

    /** Pause partitions. */
    void pause(List<Place> partitions);

    /** Resume partitions. */
    void resume(List<Place> partitions);

    /** Return the next records, or none after {@code timeout}. */
    List<Batch> poll(Duration timeout);

    /** Commit, and return when it is done. */
    void commitSync(List<Position> offsets);

    /** Commit, and call {@code done} with the client's error or null, later, on any thread. */
    void commitAsync(List<Position> offsets, Done done);

    /** Interrupt the current or next poll, from another thread. */
    void wakeup();

    /** Close the consumer. Return true if it is done within {@code timeout}. */
    boolean close(Duration timeout);

    /** Whether the client calls an error retriable, or null if it does not say so. */
    default Boolean isRetriable(RuntimeException error) {
        return null;
    }

    /** The listener of rebalances. An exception of it is the application's, for the client. */
    interface Listener {
        /** The partitions that are new. Generation -1 and an empty member id are unknown. */
        void assigned(List<Place> partitions, int generation, String memberId);

        /** The partitions that the member gives up. */
        void revoked(List<Place> partitions);

        /** The partitions that the member has already lost. */
        void lost(List<Place> partitions);
    }

    /** Receives the result of an asynchronous commit. */
    interface Done {
        /** The client's error, or null for success. */
        void complete(Exception error);
    }
}
