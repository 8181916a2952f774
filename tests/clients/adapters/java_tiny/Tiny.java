import verifiable.Adapter;
import verifiable.Batch;
import verifiable.ConsumerAdapter;
import verifiable.Place;
import verifiable.Position;
import verifiable.Program;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * A consumer with three records, of which a poll returns at most two. Its first commit fails. With an argument, it
 * cannot seek.
 */
public final class Tiny implements Adapter, ConsumerAdapter {
    private static final Place PLACE = new Place("t", 0);
    private static final long END = 3;
    private static final int BATCH = 2;

    private final boolean canSeek;
    private long next;
    private boolean hasFailed;

    private Tiny(boolean canSeek) {
        this.canSeek = canSeek;
    }

    public static void main(String[] args) {
        Program.run(() -> new Tiny(args.length == 0));
    }

    @Override
    public About about() {
        return new About("tiny", "1.0", null, "java", List.of("consumer", "group", "seek"));
    }

    @Override
    public ConsumerAdapter consumer() {
        return this;
    }

    @Override
    public Configured configure(Map<String, Object> config) {
        return new Configured(Map.of(), Map.of());
    }

    @Override
    public Configured configure(
            Map<String, Object> config,
            Map<String, String> own,
            Map<String, String> ownNotSet,
            Listener listener) {
        return configure(config);
    }

    @Override
    public List<Batch> poll(Duration timeout) {
        if (next == END) {
            return List.of();
        }
        Batch batch = new Batch(PLACE);
        for (long end = Math.min(next + BATCH, END); next < end; next++) {
            batch.add(next, null, null, -1);
        }
        return List.of(batch);
    }

    @Override
    public void commitSync(List<Position> offsets) {
        if (!hasFailed) {
            hasFailed = true;
            throw new IllegalStateException("unlucky");
        }
    }

    @Override
    public void seek(Position position) {
        if (!canSeek) {
            throw new UnsupportedOperationException();
        }
        next = position.offset();
    }

    @Override
    public void subscribe(List<String> topics) {}

    @Override
    public boolean close(Duration timeout) {
        return true;
    }

    @Override
    public void send(
            String topic, String key, String value, Integer partition, verifiable.Result result) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void flush() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void subscribePattern(String pattern) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void assign(List<Position> partitions) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void unsubscribe() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void pause(List<Place> partitions) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void resume(List<Place> partitions) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void commitAsync(List<Position> offsets, Done done) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void wakeup() {
        throw new UnsupportedOperationException();
    }
}
