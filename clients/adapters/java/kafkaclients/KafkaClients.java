package kafkaclients;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.StringSerializer;

import verifiable.Adapter;
import verifiable.ConsumerAdapter;
import verifiable.Program;
import verifiable.Result;
import verifiable.TransactionAdapter;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/** The adapter for Apache Kafka's own producer and consumer: one source for all of its versions. */
public final class KafkaClients implements Adapter, TransactionAdapter {
    private final String version = version();
    private final Set<String> known = ProducerConfig.configNames();
    private final GroupConsumer consumer = new GroupConsumer(version);
    private Properties properties;
    private Producer<String, String> producer;

    public static void main(String[] arguments) {
        Program.run(KafkaClients::new);
    }

    @Override
    public About about() {
        List<String> features = new ArrayList<>(List.of("producer"));
        if (known.contains("enable.idempotence")) { // from 0.11 on
            features.add("idempotence");
        }
        if (hasTransactions()) {
            features.add("transactions");
        }
        features.add("client_config");
        features.addAll(consumer.features());
        return new About("java", version, null, "java", features);
    }

    @Override
    public ConsumerAdapter consumer() {
        return consumer;
    }

    @Override
    public TransactionAdapter transactions() {
        return hasTransactions() ? this : null;
    }

    private boolean hasTransactions() {
        return known.contains("transactional.id"); // from 0.11 on
    }

    @Override
    public Configured configure(Map<String, Object> config) throws ConfigRefused {
        return configure(config, Map.of(), new TreeMap<>());
    }

    @Override
    public Configured configure(
            Map<String, Object> config, Map<String, String> given, Map<String, String> ownNotSet)
            throws ConfigRefused {
        Settings settings = new Settings(version, known).take(config, given, ownNotSet);
        properties = settings.properties();
        try {
            build();
        } catch (KafkaException error) {
            throw Settings.refusal(error);
        }
        return settings.configured();
    }

    private void build() {
        producer = new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer());
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

    @Override
    public void initTransactions() {
        producer.initTransactions();
    }

    @Override
    public void beginTransaction() {
        producer.beginTransaction();
    }

    @Override
    public void commitTransaction() {
        producer.commitTransaction();
    }

    @Override
    public void abortTransaction() {
        producer.abortTransaction();
    }

    @Override
    public WayOut wayOut(RuntimeException error) {
        return TransactionErrors.wayOut(error);
    }

    /** A close with a timeout of zero waits for the end of the sender's thread. */
    @Override
    public void renew() {
        try {
            close(Duration.ZERO);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
        build();
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
}
