package verifiable;

import java.util.ArrayList;
import java.util.List;

/** The records of one partition that one poll returned, in the order of delivery. */
public final class Batch {
    private final Place place;
    private final List<Object> offsets = new ArrayList<>();
    private final List<Object> keys = new ArrayList<>();
    private final List<Object> values = new ArrayList<>();
    private final List<Object> leaderEpochs = new ArrayList<>();
    private long min = Long.MAX_VALUE;
    private long max = -1;

    public Batch(Place place) {
        this.place = place;
    }

    /** Add one record. Key and value are null if it has none; an unknown leader epoch is -1. */
    public void add(long offset, String key, String value, int leaderEpoch) {
        offsets.add(offset);
        keys.add(key);
        values.add(value);
        leaderEpochs.add(leaderEpoch);
        min = Math.min(min, offset);
        max = Math.max(max, offset);
    }

    Place place() {
        return place;
    }

    int count() {
        return offsets.size();
    }

    /** The position of the first record. */
    Position first() {
        return new Position(place, min);
    }

    /** The position after the records, which is what a commit of them commits. */
    Position next() {
        return new Position(place, max + 1);
    }

    Object fields() {
        Fields fields = new Fields().with("topic", place.topic());
        fields.with("partition", place.partition()).with("count", count());
        fields.with("minOffset", offsets.isEmpty() ? -1L : min).with("maxOffset", max);
        fields.with("offsets", offsets);
        fields.with("values", values).with("keys", keys);
        return fields.with("leader_epochs", leaderEpochs).values();
    }
}
