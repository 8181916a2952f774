package kafkaclients;

import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigException;

import verifiable.Adapter.Applied;
import verifiable.Adapter.ConfigRefused;
import verifiable.Adapter.Configured;

import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;

/** The settings that this version knows, as properties, and those that it does not. */
final class Settings {
    private static final String ASSIGNORS = "partition.assignment.strategy";
    private static final Map<String, String> ASSIGNOR_CLASSES =
            Map.of(
                    "range", "RangeAssignor",
                    "roundrobin", "RoundRobinAssignor",
                    "sticky", "StickyAssignor",
                    "cooperative-sticky", "CooperativeStickyAssignor");
    private static final String PACKAGE = "org.apache.kafka.clients.consumer.";

    private final String version;
    private final Set<String> known;
    private final Map<String, Applied> applied = new TreeMap<>();
    private final Map<String, String> notSet = new TreeMap<>();
    private final Properties own = new Properties();

    Settings(String version, Set<String> known) {
        this.version = version;
        this.known = known;
    }

    /** Set what this version knows. {@code ownNotSet} receives the other names, with a reason. */
    Settings take(
            Map<String, Object> config, Map<String, String> given, Map<String, String> ownNotSet) {
        String unknown = "kafka-clients " + version + " has no setting of this name";
        config.forEach(
                (name, value) -> {
                    if (known.contains(name)) {
                        set(name, value.toString());
                    } else {
                        notSet.put(name, unknown);
                    }
                });
        given.forEach(
                (name, value) -> {
                    if (own.containsKey(name)) {
                        ownNotSet.put(name, "the harness sets it");
                    } else if (!known.contains(name)) {
                        ownNotSet.put(name, unknown);
                    } else {
                        own.setProperty(name, value);
                    }
                });
        return this;
    }

    Properties properties() {
        return own;
    }

    Configured configured() {
        return new Configured(applied, notSet);
    }

    /** Whether this version has a class of the consumer's package. */
    static boolean has(String assignor) {
        try {
            Class.forName(PACKAGE + assignor, false, Settings.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException absent) {
            return false;
        }
    }

    /** Find the invalid setting in the causes: an unknown codec is an IllegalArgumentException. */
    static ConfigRefused refusal(KafkaException error) {
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            if (cause instanceof ConfigException || cause instanceof IllegalArgumentException) {
                return new ConfigRefused(cause);
            }
        }
        throw error;
    }

    private void set(String name, String value) {
        if (!name.equals(ASSIGNORS)) {
            accept(name, value);
            return;
        }
        StringBuilder classes = new StringBuilder();
        for (String each : value.split(",")) {
            String brief = ASSIGNOR_CLASSES.get(each.trim());
            if (brief != null && !has(brief)) {
                notSet.put(name, "kafka-clients " + version + " has no assignor " + each.trim());
                return;
            }
            classes.append(classes.isEmpty() ? "" : ",");
            classes.append(brief == null ? each.trim() : PACKAGE + brief);
        }
        accept(name, classes.toString());
    }

    private void accept(String name, String value) {
        own.setProperty(name, value);
        applied.put(name, new Applied(name, value));
    }
}
