package kafkaclients;

import org.apache.kafka.clients.consumer.Consumer;

/** What the consumer tells of its membership. Its method {@code groupMetadata()} was added in 2.5. */
record Membership(Consumer<String, String> consumer) {
    private static final String KIND = "org.apache.kafka.clients.consumer.ConsumerGroupMetadata";

    /** The generation or member epoch, or -1. */
    int generation() {
        return told("generationId", -1);
    }

    /** The broker's name of the member, or an empty text. */
    String memberId() {
        return told("memberId", "");
    }

    @SuppressWarnings("unchecked")
    private <T> T told(String method, T unknown) {
        try {
            Object metadata = Consumer.class.getMethod("groupMetadata").invoke(consumer);
            return (T) Class.forName(KIND).getMethod(method).invoke(metadata);
        } catch (ClassNotFoundException | NoSuchMethodException old) {
            return unknown;
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }
}
