package kafkaconfig;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;

import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Answers questions about settings. The Python package around this one describes both. */
public final class KafkaConfig {
    private static final JsonFactory JSON = new JsonFactory();

    private KafkaConfig() {}

    /** Answer the questions on stdin until it ends. */
    public static void main(String[] arguments) throws IOException {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader questions =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            answers.println(answer(parse(line)));
        }
    }

    private static String answer(Map<?, ?> question) throws IOException {
        boolean isProducer = question.get("role").equals("producer");
        if (!question.containsKey("settings")) {
            Set<String> keys = isProducer ? ProducerConfig.configNames() : ConsumerConfig.configNames();
            return format("keys", new ArrayList<>(keys));
        }
        Map<String, Object> settings = new HashMap<>();
        ((Map<?, ?>) question.get("settings")).forEach((name, value) -> settings.put((String) name, value));
        if (!question.containsKey("key")) {
            return format("metrics", isProducer ? producerMetrics(settings) : consumerMetrics(settings));
        }
        AbstractConfig config;
        try {
            config = isProducer ? new ProducerConfig(settings) : new ConsumerConfig(settings);
        } catch (RuntimeException refusal) {
            return format("refused", refusal.toString());
        }
        return format("value", config.values().get((String) question.get("key")));
    }

    // Metrics, as "group name"

    private static List<String> producerMetrics(Map<String, Object> settings) {
        ByteArraySerializer none = new ByteArraySerializer();
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings, none, none);
        List<String> names = names(producer.metrics().keySet());
        producer.close(Duration.ZERO);
        return names;
    }

    @SuppressWarnings("deprecation") // close(CloseOptions) is newer than some releases
    private static List<String> consumerMetrics(Map<String, Object> settings) {
        ByteArrayDeserializer none = new ByteArrayDeserializer();
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings, none, none);
        List<String> names = names(consumer.metrics().keySet());
        consumer.close(Duration.ZERO);
        return names;
    }

    private static List<String> names(Set<MetricName> metrics) {
        return metrics.stream().map(metric -> metric.group() + " " + metric.name()).toList();
    }

    // JSON, read and written by Jackson's tokens

    private static Map<?, ?> parse(String line) throws IOException {
        try (JsonParser parser = JSON.createParser(line)) {
            parser.nextToken();
            return (Map<?, ?>) value(parser);
        }
    }

    private static Object value(JsonParser parser) throws IOException {
        JsonToken token = parser.currentToken();
        return switch (token) {
            case START_OBJECT -> {
                Map<String, Object> object = new HashMap<>();
                while (parser.nextToken() != JsonToken.END_OBJECT) {
                    String name = parser.currentName();
                    parser.nextToken();
                    object.put(name, value(parser));
                }
                yield object;
            }
            case START_ARRAY -> {
                List<Object> array = new ArrayList<>();
                while (parser.nextToken() != JsonToken.END_ARRAY) {
                    array.add(value(parser));
                }
                yield array;
            }
            case VALUE_STRING -> parser.getText();
            case VALUE_TRUE -> true;
            case VALUE_FALSE -> false;
            case VALUE_NULL -> null;
            case VALUE_NUMBER_INT -> parser.getNumberValue();
            case VALUE_NUMBER_FLOAT -> parser.getDoubleValue();
            default -> throw new IOException("expected a value, got " + token);
        };
    }

    private static String format(String name, Object value) throws IOException {
        StringWriter line = new StringWriter();
        try (JsonGenerator generator = JSON.createGenerator(line)) {
            generator.writeStartObject();
            generator.writeFieldName(name);
            write(generator, value);
            generator.writeEndObject();
        }
        return line.toString();
    }

    private static void write(JsonGenerator generator, Object value) throws IOException {
        if (value == null) {
            generator.writeNull();
        } else if (value instanceof Boolean truth) {
            generator.writeBoolean(truth);
        } else if (value instanceof Double fraction) {
            generator.writeNumber(fraction);
        } else if (value instanceof Number number) {
            generator.writeNumber(number.longValue());
        } else if (value instanceof List<?> list) {
            generator.writeStartArray();
            for (Object element : list) {
                write(generator, element);
            }
            generator.writeEndArray();
        } else if (value instanceof Class<?> type) {
            generator.writeString(type.getName());
        } else if (value instanceof Password password) {
            generator.writeString(password.value());
        } else {
            generator.writeString(value.toString());
        }
    }
}
