package verifiable;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** Groups the results of records into columns: one line per command, every 20 ms or 500 rows. */
final class Results {
    static final int MAX_ROWS = 500;

    private final Output output;
    private final Map<Of, List<Row>> rows = new LinkedHashMap<>();
    private long count;

    Results(Output output) {
        this.output = output;
    }

    /** The number of results so far. */
    synchronized long count() {
        return count;
    }

    /** Store one row. Its line is written later, or now if it is full. */
    synchronized void add(String op, long id, Row row) {
        count++;
        Of command = new Of(op, id);
        List<Row> kept = rows.computeIfAbsent(command, first -> new ArrayList<>());
        kept.add(row);
        if (kept.size() >= MAX_ROWS) {
            write(command, rows.remove(command));
        }
    }

    /** Write all stored rows. */
    synchronized void write() {
        rows.forEach(this::write);
        rows.clear();
    }

    private void write(Of command, List<Row> told) {
        Fields columns = new Fields().with("op", command.op).with("id", command.id);
        columns.with("outcome", column(told, Row::outcome));
        columns.with("error", column(told, Row::error));
        columns.with("invoke_ns", column(told, Row::invokeNs));
        columns.with("complete_ns", column(told, Row::completeNs));
        columns.with("records", column(told, Row::record));
        columns.with("partition", column(told, Row::partition));
        columns.with("offset", column(told, Row::offset));
        output.event("op_complete", columns);
    }

    private static List<Object> column(List<Row> told, Function<Row, Object> field) {
        List<Object> column = new ArrayList<>(told.size());
        told.forEach(row -> column.add(field.apply(row)));
        return column;
    }

    /** The command that the rows of a line belong to, and its op. */
    private record Of(String op, long id) {}

    /** The result of one record. */
    record Row(
            String outcome,
            String error,
            long invokeNs,
            long completeNs,
            long record,
            int partition,
            long offset) {}
}
