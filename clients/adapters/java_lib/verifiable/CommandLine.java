package verifiable;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Parses a line of input as a command, and checks that every field exists and has its type. */
final class CommandLine {
    private final String line;
    private final Map<?, ?> fields;

    private CommandLine(String line) throws BadCommand {
        this.line = line;
        try {
            fields = of(Json.parse(line), Map.class);
        } catch (IOException error) {
            throw new BadCommand(line);
        }
    }

    /** Return the command in a line. Throws BadCommand if there is none. */
    static Command parse(String line) throws BadCommand {
        return new CommandLine(line).command();
    }

    private Command command() throws BadCommand {
        String name = field("cmd", String.class);
        return switch (name) {
            case "configure" -> configure();
            case "produce" -> produce();
            case "transact" ->
                    new Command.Transact(
                            produce(), field("end", String.class), field("flush", Boolean.class));
            case "flush" -> new Command.Flush(id(), field("timeout_ms", Long.class));
            case "close" -> new Command.Close(id(), field("timeout_ms", Long.class));
            case "subscribe" -> subscribe();
            case "assign" -> assign();
            case "unsubscribe" -> new Command.Unsubscribe(id());
            case "seek" -> new Command.Seek(id(), position(field("position", Map.class)));
            case "pause" -> new Command.Pause(id(), places());
            case "resume" -> new Command.Resume(id(), places());
            case "commit" -> new Command.Commit(id(), text("how", "sync"));
            case "attempt" -> attempt();
            case "process" -> new Command.Process(id(), field("processing_ms", Long.class));
            case "throw" ->
                    new Command.Throw(id(), field("callback", String.class), number("times", 1));
            case "wakeup" -> new Command.Wakeup(id());
            default -> new Command.Unknown(fields.containsKey("id") ? id() : -1, name);
        };
    }

    private Command configure() throws BadCommand {
        boolean has = fields.get("client_config") != null;
        Map<String, Object> own = has ? object("client_config") : Map.of();
        return new Command.Configure(id(), text("role", "producer"), object("config"), own);
    }

    private Command.Produce produce() throws BadCommand {
        String topic = field("topic", String.class);
        long first = field("first", Long.class);
        List<String> keys = list("keys", String.class);
        List<String> values = list("values", String.class);
        boolean anywhere = fields.get("partitions") == null;
        List<Long> partitions = anywhere ? null : list("partitions", Long.class);
        return new Command.Produce(id(), topic, first, keys, values, partitions);
    }

    private Command subscribe() throws BadCommand {
        boolean listed = fields.get("topics") != null;
        List<String> topics = listed ? list("topics", String.class) : List.of();
        String pattern = text("pattern", null);
        return new Command.Subscribe(
                id(), topics, pattern, text("commit", "none"), number("processing_ms", 0));
    }

    private Command assign() throws BadCommand {
        return new Command.Assign(
                id(), positions(), text("commit", "none"), number("processing_ms", 0));
    }

    private Command attempt() throws BadCommand {
        List<Position> partitions = fields.get("partitions") == null ? List.of() : positions();
        return new Command.Attempt(id(), field("call", String.class), partitions);
    }

    private List<Position> positions() throws BadCommand {
        List<Position> partitions = new ArrayList<>();
        for (Map<?, ?> each : list("partitions", Map.class)) {
            partitions.add(position(each));
        }
        return partitions;
    }

    private List<Place> places() throws BadCommand {
        List<Place> places = new ArrayList<>();
        for (Map<?, ?> each : list("partitions", Map.class)) {
            places.add(place(each));
        }
        return places;
    }

    private Position position(Map<?, ?> of) throws BadCommand {
        return new Position(place(of), of(of.get("offset"), Long.class));
    }

    private Place place(Map<?, ?> of) throws BadCommand {
        int partition = Math.toIntExact(of(of.get("partition"), Long.class));
        return new Place(of(of.get("topic"), String.class), partition);
    }

    private long id() throws BadCommand {
        return field("id", Long.class);
    }

    private <T> T field(String name, Class<T> kind) throws BadCommand {
        return of(fields.get(name), kind);
    }

    /** A text that may be left out. */
    private String text(String name, String otherwise) throws BadCommand {
        return fields.get(name) == null ? otherwise : field(name, String.class);
    }

    /** A number that may be left out. */
    private long number(String name, long otherwise) throws BadCommand {
        return fields.get(name) == null ? otherwise : field(name, Long.class);
    }

    private <T> List<T> list(String name, Class<T> kind) throws BadCommand {
        List<T> list = new ArrayList<>();
        for (Object element : field(name, List.class)) {
            list.add(element == null ? null : of(element, kind));
        }
        return list;
    }

    private Map<String, Object> object(String name) throws BadCommand {
        Map<String, Object> object = new LinkedHashMap<>();
        for (Map.Entry<?, ?> entry : ((Map<?, ?>) field(name, Map.class)).entrySet()) {
            object.put((String) entry.getKey(), entry.getValue());
        }
        return object;
    }

    private <T> T of(Object value, Class<T> kind) throws BadCommand {
        if (!kind.isInstance(value)) {
            throw new BadCommand(line);
        }
        return kind.cast(value);
    }

    /** The line is not a command. */
    static final class BadCommand extends Exception {
        private static final long serialVersionUID = 1;
        private static final int SHOWN_CHARACTERS = 200;

        private BadCommand(String line) {
            super("not a command: " + line.substring(0, Math.min(SHOWN_CHARACTERS, line.length())));
        }
    }
}
