package verifiable;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.FutureTask;
import java.util.function.Consumer;

/**
 * Executes commands, and reports their results.
 *
 * <p>Calls of the client with a timeout (flush, close) run on a separate thread ({@link
 * TimedCall}).
 */
final class Operations {
    /** The time that a client may need after the timeout of a close, to give up the rest. */
    private static final Duration CLOSE_GRACE = Duration.ofSeconds(1);

    private final Adapter adapter;
    private final Output output;
    private final Results results;
    private final Answers answers;
    private final Transactor transactor;
    private boolean configured;
    private volatile PollLoop loop;
    private volatile long sent;
    private volatile boolean hurried;
    private volatile FutureTask<Boolean> flushing = TimedCall.of(() -> {});

    Operations(Adapter adapter, Output output, Results results) {
        this.adapter = adapter;
        this.output = output;
        this.results = results;
        answers = new Answers(output);
        transactor = new Transactor(adapter, output, this::hurried);
    }

    /** The number of records that were passed to the client. */
    long sent() {
        return sent;
    }

    /** Called after a signal that requests a close. A flush is no longer waited for. */
    void hurry() {
        hurried = true;
        if (loop != null) {
            loop.hurry();
        }
        flushing.cancel(true);
    }

    /** Whether a signal has requested a close. Queued commands are then not started. */
    boolean hurried() {
        return hurried;
    }

    /** Build the client. A consumer's application runs on the thread that {@code start} starts. */
    void configure(Command.Configure command, Consumer<PollLoop> start)
            throws Adapter.ConfigRefused {
        if (configured) {
            throw new IllegalStateException("configured twice");
        }
        Map<String, String> given = new LinkedHashMap<>();
        command.own().forEach((name, value) -> given.put(name, value.toString()));
        Map<String, String> notSet = new LinkedHashMap<>();
        ConsumerAdapter consumer = command.isConsumer() ? adapter.consumer() : null;
        Adapter.Configured told;
        if (!command.isConsumer()) {
            told = adapter.configure(command.config(), given, notSet);
        } else if (consumer == null) {
            answers.unsupported("configure", command.id());
            return;
        } else {
            PollLoop made = new PollLoop(consumer, output);
            told = consumer.configure(command.config(), given, notSet, made.listener());
            loop = made;
        }
        configured = true;
        Map<String, Object> applied = new LinkedHashMap<>();
        told.applied().forEach((name, own) -> applied.put(name, List.of(own.name(), own.value())));
        Fields fields = new Fields().with("id", command.id());
        fields.with("applied", applied).with("not_set", told.notSet());
        output.event("configured", fields.with("client_not_set", notSet));
        if (loop != null) {
            start.accept(loop);
        }
    }

    /** Pass a command to the application that consumes. A wakeup comes from the calling thread. */
    void consume(Command.ForConsumer command) {
        if (loop == null) {
            answers.unsupported(command.op(), command.id());
        } else if (command instanceof Command.Wakeup wakeup) {
            loop.wakeup(wakeup);
        } else {
            loop.add(command);
        }
    }

    void produce(Command.Produce command) {
        mustBeConfigured("produce");
        if (loop != null) {
            answers.unsupported("produce", command.id());
            return;
        }
        int count = command.values().size();
        Fields fields = new Fields().with("op", "send").with("id", command.id());
        output.event("op_invoke", fields.with("first", command.first()).with("count", count));
        Consumer<Results.Row> told = row -> results.add("send", command.id(), row);
        for (int n = 0; n < count && !hurried; n++) {
            String key = command.keys().get(n);
            String value = command.values().get(n);
            sent++;
            Result result = new Result(told, command.first() + n);
            adapter.send(command.topic(), key, value, command.partition(n), result);
        }
    }

    void transact(Command.Transact command) throws Exception {
        if (loop != null || adapter.transactions() == null) {
            answers.unsupported("transact", command.id());
            return;
        }
        mustBeConfigured("transact");
        sent += command.records().values().size();
        for (Results.Row row : transactor.transact(command)) {
            results.add("transact", command.id(), row);
        }
    }

    void flush(Command.Flush command) throws Exception {
        mustBeConfigured("flush");
        long invokeNs = answers.invoke("flush", command.id());
        flushing = TimedCall.of(adapter::flush);
        Duration timeout = Duration.ofMillis(command.timeoutMs());
        boolean done = loop != null || (!hurried && TimedCall.within(timeout, flushing));
        complete("flush", command.id(), invokeNs, done);
    }

    void close(Command.Close command) throws Exception {
        long invokeNs = answers.invoke("close", command.id());
        Duration timeout = Duration.ofMillis(command.timeoutMs());
        FutureTask<Boolean> closing = new FutureTask<>(() -> closed(timeout));
        boolean done = !configured || TimedCall.within(timeout.plus(CLOSE_GRACE), closing);
        complete("close", command.id(), invokeNs, done);
    }

    private boolean closed(Duration timeout) throws Exception {
        return loop == null ? adapter.close(timeout) : loop.close(timeout);
    }

    private void mustBeConfigured(String command) {
        if (!configured) {
            throw new IllegalStateException(command + " before configure");
        }
    }

    private void complete(String op, long id, long invokeNs, boolean done) {
        results.write();
        answers.complete(op, id, invokeNs, done ? null : "the client is not done");
    }
}
