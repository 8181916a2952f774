package verifiable;

import java.util.LinkedHashMap;
import java.util.Map;

/** The fields of one event, in insertion order. */
final class Fields {
    private final Map<String, Object> values = new LinkedHashMap<>();

    Fields with(String name, Object value) {
        values.put(name, value);
        return this;
    }

    Fields with(Fields more) {
        values.putAll(more.values);
        return this;
    }

    Map<String, Object> values() {
        return values;
    }
}
