package kafkaclients;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.serialization.StringSerializer;

import verifiable.Adapter;
import verifiable.Program;
import verifiable.Result;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/** The adapter for Apache Kafka's own producer: one source for all of its versions. */
public final class KafkaClients implements Adapter {
    private final String version = version();
    private final Set<String> known = ProducerConfig.configNames();
    private Producer<String, String> producer;

    public static void main(String[] arguments) {
        Program.run(KafkaClients::new);
    }

    @Override
    public About about() {
        boolean idempotence = known.contains("enable.idempotence"); // from 0.11 on
        List<String> features =
                idempotence
                        ? List.of("producer", "idempotence", "client_config")
                        : List.of("producer", "client_config");
        return new About("java", version, null, "java", features);
    }

    @Override
    public Configured configure(Map<String, Object> config) throws ConfigRefused {
        return configure(config, Map.of(), new TreeMap<>());
    }

    @Override
    public Configured configure(
            Map<String, Object> config, Map<String, String> given, Map<String, String> ownNotSet)
            throws ConfigRefused {
        String unknown = "kafka-clients " + version + " has no setting of this name";
        Map<String, Applied> applied = new TreeMap<>();
        Map<String, String> notSet = new TreeMap<>();
        Properties own = new Properties();
        config.forEach(
                (name, value) -> {
                    if (known.contains(name)) {
                        own.setProperty(name, value.toString());
                        applied.put(name, new Applied(name, value.toString()));
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
        try {
            producer = new KafkaProducer<>(own, new StringSerializer(), new StringSerializer());
        } catch (KafkaException error) {
            throw refusal(error);
        }
        return new Configured(applied, notSet);
    }

    @Override
    public void send(String topic, String key, String value, Integer partition, Result result) {
        Delivery delivery = new Delivery(result);
        try {
            producer.send(new ProducerRecord<>(topic, partition, key, value), delivery);
        } catch (RuntimeException error) {
            delivery.thrown(error);
        }
    }

    @Override
    public void flush() {
        producer.flush();
    }

    /**
     * After the timeout, the client itself fails the records without a result, so it always returns
     * true. {@code close(Duration)} was added in 2.2, and its predecessor was removed in 3.0.
     */
    @Override
    public boolean close(Duration timeout) throws ReflectiveOperationException {
        Class<?> kind = producer.getClass();
        try {
            kind.getMethod("close", Duration.class).invoke(producer, timeout);
        } catch (NoSuchMethodException old) {
            Method close = kind.getMethod("close", long.class, TimeUnit.class);
            close.invoke(producer, timeout.toMillis(), TimeUnit.MILLISECONDS);
        }
        return true;
    }

    /** The version in the client's jar. Kafka's own class that reads it has moved in 4.4. */
    private static String version() {
        Properties own = new Properties();
        try (InputStream resource =
                KafkaProducer.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            own.load(resource);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return own.getProperty("version");
    }

    /** Find the invalid setting in the causes: an unknown codec is an IllegalArgumentException. */
    private static ConfigRefused refusal(KafkaException error) {
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            if (cause instanceof ConfigException || cause instanceof IllegalArgumentException) {
                return new ConfigRefused(cause);
            }
        }
        throw error;
    }
}
