package verifiable;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** The application's listener: it reports each call, and throws if it was told to. */
final class Rebalances implements ConsumerAdapter.Listener {
    private final ConsumerEvents events;
    private final Consumer<List<Place>> givenUp;
    private final Map<String, Long> throwing = new HashMap<>();

    /** {@code givenUp} is called with partitions that the member no longer owns. */
    Rebalances(ConsumerEvents events, Consumer<List<Place>> givenUp) {
        this.events = events;
        this.givenUp = givenUp;
    }

    /** Throw in the next calls of a callback. */
    void throwIn(String callback, long times) {
        throwing.put(callback, times);
    }

    @Override
    public void assigned(List<Place> partitions, int generation, String memberId) {
        events.assigned(partitions, generation, memberId);
        maybeThrow("assigned");
    }

    @Override
    public void revoked(List<Place> partitions) {
        events.revoked(partitions);
        givenUp.accept(partitions);
        maybeThrow("revoked");
    }

    @Override
    public void lost(List<Place> partitions) {
        events.lost(partitions);
        givenUp.accept(partitions);
        maybeThrow("lost");
    }

    private void maybeThrow(String callback) {
        long left = throwing.getOrDefault(callback, 0L);
        if (left > 0) {
            throwing.put(callback, left - 1);
            throw new ListenerFailed(callback);
        }
    }

    /** The exception that the harness asked the application to throw. */
    static final class ListenerFailed extends RuntimeException {
        private static final long serialVersionUID = 1;

        private ListenerFailed(String callback) {
            super("the application's listener throws in " + callback);
        }
    }
}
