package verifiable;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * What a program supplies: one client, behind four methods.
 *
 * <p>Any exception that leaves a method is fatal: it is the adapter's defect, not the client's.
 */
public interface Adapter {
    /** Which client runs, at which version: what really runs, whatever was asked for. */
    About about();

    /**
     * Build the client from settings in the Java names; a value is a String, a Long or a Boolean.
     *
     * @return what became of each of them
     * @throws ConfigRefused if the client refuses them; no other exception is taken for a refusal
     */
    Configured configure(Map<String, Object> config) throws ConfigRefused;

    /**
     * Hand one record to the client; {@code result} is to be called once, now or later, on any
     * thread.
     *
     * @param key null for none
     * @param partition null leaves the choice to the client
     */
    void send(String topic, String key, String value, Integer partition, Result result);

    /** Return when the client says that all is done; interrupted when the time is over. */
    void flush();

    /** Close the client within {@code timeout}; true if it says that every record has a result. */
    boolean close(Duration timeout) throws Exception;

    /** Who the client is. {@code libraryVersion}: of what it wraps, null for nothing. */
    record About(
            String client,
            String clientVersion,
            String libraryVersion,
            String language,
            List<String> features) {}

    /** Java name to what was set, or to why it could not be: every name in one of them. */
    record Configured(Map<String, Applied> applied, Map<String, String> notSet) {}

    /** A setting as the client was given it: its own name, its value. */
    record Applied(String name, Object value) {}

    /** The client itself says that it cannot be built from these settings. */
    final class ConfigRefused extends Exception {
        private static final long serialVersionUID = 1;

        public ConfigRefused(Throwable why) {
            super(why.getMessage(), why);
        }
    }
}
