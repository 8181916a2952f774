package verifiable;

/** An offset in a partition. -1 is its end, or no offset; -2 is its beginning. */
public record Position(Place place, long offset) {
    /** The special offsets of a seek, as in ListOffsets. */
    public static final long LATEST = -1;

    public static final long EARLIEST = -2;

    Object fields() {
        Fields fields = new Fields().with("topic", place.topic());
        return fields.with("partition", place.partition()).with("offset", offset).values();
    }
}
