package verifiable;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON as maps, lists, strings, numbers and booleans: Jackson's tokens without data binding. */
final class Json {
    private static final JsonFactory FACTORY = new JsonFactory();

    private Json() {}

    /** Parse the one value in a text. Throws IOException if it is not exactly one value. */
    static Object parse(String text) throws IOException {
        try (JsonParser parser = FACTORY.createParser(text)) {
            parser.nextToken();
            Object value = value(parser);
            if (parser.nextToken() != null) {
                throw new IOException("the value is followed by other text");
            }
            return value;
        }
    }

    /** Format a value as one line, including the line end. */
    static byte[] line(Object value) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        try (JsonGenerator generator = FACTORY.createGenerator(line)) {
            write(generator, value);
        }
        line.write('\n');
        return line.toByteArray();
    }

    private static Object value(JsonParser parser) throws IOException {
        JsonToken token = parser.currentToken();
        if (token == null) {
            throw new IOException("there is no value");
        }
        return switch (token) {
            case START_OBJECT -> object(parser);
            case START_ARRAY -> array(parser);
            case VALUE_STRING -> parser.getText();
            case VALUE_TRUE -> true;
            case VALUE_FALSE -> false;
            case VALUE_NULL -> null;
            case VALUE_NUMBER_INT -> parser.getLongValue();
            case VALUE_NUMBER_FLOAT -> parser.getDoubleValue();
            default -> throw new IOException("expected a value, got " + token);
        };
    }

    private static Map<String, Object> object(JsonParser parser) throws IOException {
        Map<String, Object> object = new LinkedHashMap<>();
        while (parser.nextToken() != JsonToken.END_OBJECT) {
            String name = parser.currentName();
            parser.nextToken();
            object.put(name, value(parser));
        }
        return object;
    }

    private static List<Object> array(JsonParser parser) throws IOException {
        List<Object> array = new ArrayList<>();
        while (parser.nextToken() != JsonToken.END_ARRAY) {
            array.add(value(parser));
        }
        return array;
    }

    private static void write(JsonGenerator generator, Object value) throws IOException {
        if (value instanceof Map<?, ?> object) {
            generator.writeStartObject();
            for (Map.Entry<?, ?> field : object.entrySet()) {
                generator.writeFieldName((String) field.getKey());
                write(generator, field.getValue());
            }
            generator.writeEndObject();
        } else if (value instanceof List<?> array) {
            generator.writeStartArray();
            for (Object element : array) {
                write(generator, element);
            }
            generator.writeEndArray();
        } else if (value instanceof Long || value instanceof Integer) {
            generator.writeNumber(((Number) value).longValue());
        } else if (value instanceof Boolean truth) {
            generator.writeBoolean(truth);
        } else if (value == null) {
            generator.writeNull();
        } else {
            generator.writeString((String) value);
        }
    }
}
