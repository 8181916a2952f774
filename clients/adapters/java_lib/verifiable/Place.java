package verifiable;

/** A partition of a topic. */
public record Place(String topic, int partition) {
    Object fields() {
        return new Fields().with("topic", topic).with("partition", partition).values();
    }
}
