import verifiable.Adapter;
import verifiable.Program;
import verifiable.Result;
import verifiable.TransactionAdapter;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A producer whose calls fail as the arguments say: {@code commit=REPEAT,ABORT} fails in the first two commits, with
 * errors that have these ways out. {@code send=3} refuses the third record of each transaction.
 */
public final class TinyTransactions implements Adapter, TransactionAdapter {
    private final Map<String, Deque<WayOut>> failures = new HashMap<>();
    private long refused;
    private long sent;

    private TinyTransactions(String[] arguments) {
        for (String each : arguments) {
            String[] halves = each.split("=");
            if (halves[0].equals("send")) {
                refused = Long.parseLong(halves[1]);
            } else {
                Deque<WayOut> ways = new ArrayDeque<>();
                for (String way : halves[1].split(",")) {
                    ways.add(WayOut.valueOf(way));
                }
                failures.put(halves[0], ways);
            }
        }
    }

    public static void main(String[] arguments) {
        Program.run(() -> new TinyTransactions(arguments));
    }

    @Override
    public About about() {
        return new About("tiny", "1.0", null, "java", List.of("producer", "transactions"));
    }

    @Override
    public TransactionAdapter transactions() {
        return this;
    }

    @Override
    public Configured configure(Map<String, Object> config) {
        return new Configured(Map.of(), Map.of());
    }

    @Override
    public void send(String topic, String key, String value, Integer partition, Result result) {
        sent++;
        if (sent == refused) {
            result.fail("Refused");
        } else {
            result.ok(0, sent);
        }
    }

    @Override
    public void flush() {
        System.err.println("flush");
    }

    @Override
    public void initTransactions() {
        maybeFail("init");
    }

    @Override
    public void beginTransaction() {
        sent = 0;
        maybeFail("begin");
    }

    @Override
    public void commitTransaction() {
        maybeFail("commit");
    }

    @Override
    public void abortTransaction() {
        maybeFail("abort");
    }

    @Override
    public WayOut wayOut(RuntimeException error) {
        return WayOut.valueOf(error.getMessage());
    }

    @Override
    public String nameOf(RuntimeException error) {
        return error.getMessage();
    }

    @Override
    public void renew() {
        maybeFail("renew");
    }

    @Override
    public boolean close(Duration timeout) {
        return true;
    }

    private void maybeFail(String call) {
        Deque<WayOut> ways = failures.get(call);
        if (ways != null && !ways.isEmpty()) {
            throw new IllegalStateException(ways.remove().name());
        }
    }
}
