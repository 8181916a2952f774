package verifiable;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * What a program supplies: one client, as an adapter with four methods.
 *
 * <p>An exception from a method is fatal: a defect of the adapter, not of the client.
 */
public interface Adapter {
    /** The client that runs and its actual version, whatever was requested. */
    About about();

    /**
     * Build the client from settings in the Java names. A value is a String, a Long or a
     * Boolean.
     *
     * @return the applied settings, and the others with a reason
     * @throws ConfigRefused if the client rejects them; no other exception is a rejection
     */
    Configured configure(Map<String, Object> config) throws ConfigRefused;

    /**
     * Build the client from settings in the Java names, and from others under the client's own
     * names. It is called instead of {@link #configure(Map)}. An adapter that implements it
     * declares the feature {@code client_config}.
     *
     * @param ownNotSet receives the names in {@code own} that are not applied, each with a reason
     */
    default Configured configure(
            Map<String, Object> config, Map<String, String> own, Map<String, String> ownNotSet)
            throws ConfigRefused {
        return configure(config);
    }

    /**
     * Pass one record to the client. Call {@code result} once, now or later, on any thread.
     *
     * @param key null for none
     * @param partition if null, the client chooses
     */
    void send(String topic, String key, String value, Integer partition, Result result);

    /** Return once the client reports that it is done. Interrupted at the timeout. */
    void flush();

    /** The client's consumer, or null if it has none. It is used instead of the methods above. */
    default ConsumerAdapter consumer() {
        return null;
    }

    /**
     * The transactions of the client's producer, or null if it has none. An adapter that has some
     * declares the feature {@code transactions}.
     */
    default TransactionAdapter transactions() {
        return null;
    }

    /** Close the client within {@code timeout}. True if it reports every record's result. */
    boolean close(Duration timeout) throws Exception;

    /** The client's identity. {@code libraryVersion} is that of a wrapped library, or null. */
    record About(
            String client,
            String clientVersion,
            String libraryVersion,
            String language,
            List<String> features) {}

    /** Java name to the applied setting, or to the reason. Every name is in one of the two. */
    record Configured(Map<String, Applied> applied, Map<String, String> notSet) {}

    /** A setting as it was passed to the client: its own name, and its value. */
    record Applied(String name, Object value) {}

    /** The client itself rejects these settings. */
    final class ConfigRefused extends Exception {
        private static final long serialVersionUID = 1;

        public ConfigRefused(Throwable why) {
            super(why.getMessage(), why);
        }
    }
}
