package verifiable;

import verifiable.TransactionAdapter.WayOut;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;

/**
 * The application of a transactional producer: one transaction for each command, as the client's
 * documentation has it.
 *
 * <p>It begins, sends, and commits or aborts. It aborts if a call of {@code send()} was refused:
 * that record never became part of the transaction, so a commit would leave it out. What it does
 * after an error is what the client lets it do ({@link TransactionAdapter#wayOut}): repeat the
 * call, abort, or close the producer and begin with another one of the same transactional id. It
 * never sends a record a second time: the next command begins the next transaction.
 */
final class Transactor {
    /** How often a call is repeated whose result is unknown. Each takes up to max.block.ms. */
    static final int ATTEMPTS = 5;

    /** A client whose calls fail at once would otherwise write events without end. */
    private static final long ERROR_PAUSE_MS = 100;

    /** How long it waits for the records' results before it ends the transaction anyway. */
    private static final Duration FLUSH = Duration.ofSeconds(10);

    private final Adapter adapter;
    private final TransactionAdapter transactions;
    private final Output output;
    private final BooleanSupplier hurried;
    private final Answers answers;
    private boolean ready;
    private long id;

    Transactor(Adapter adapter, Output output, BooleanSupplier hurried) {
        this.adapter = adapter;
        transactions = adapter.transactions();
        this.output = output;
        this.hurried = hurried;
        answers = new Answers(output);
    }

    /** Perform one transaction. Return the result of each of its records. */
    List<Results.Row> transact(Command.Transact command) throws Exception {
        Command.Produce records = command.records();
        id = records.id();
        int count = records.values().size();
        Fields told = new Fields().with("op", "transact").with("id", id);
        output.event("op_invoke", told.with("first", records.first()).with("count", count));
        long invokeNs = System.nanoTime();
        Sent sent = new Sent();
        Ended ended = end(command, sent);
        long doneNs = System.nanoTime();
        List<Results.Row> rows = new ArrayList<>(count);
        for (long n = records.first(); n < records.first() + count; n++) {
            Results.Row place = sent.places.get(n);
            int partition = place == null ? Result.UNKNOWN : place.partition();
            long offset = place == null ? Result.UNKNOWN : place.offset();
            rows.add(
                    new Results.Row(
                            ended.outcome, ended.error, invokeNs, doneNs, n, partition, offset));
        }
        return rows;
    }

    /** Nothing is committed without a commit, so without one the records are not visible. */
    private Ended end(Command.Transact command, Sent sent) throws Exception {
        String error = begin();
        if (error != null) {
            return command.isCommit() ? new Ended("fail", error) : Ended.AS_ASKED;
        }
        String refused = send(command.records(), sent);
        if (command.flush() && refused == null) {
            TimedCall.within(FLUSH, TimedCall.of(adapter::flush));
        }
        if (command.isCommit() && refused == null) {
            return commit();
        }
        abort();
        return new Ended(command.isCommit() ? "fail" : "ok", refused);
    }

    /** Begin, with a new producer if there has to be one. Return the error's name, or null. */
    private String begin() throws InterruptedException {
        if (!ready) {
            RuntimeException error = attempted("init_transactions", transactions::initTransactions);
            if (error != null) {
                renew();
                return transactions.nameOf(error);
            }
            ready = true;
        }
        RuntimeException error = attempted("begin_transaction", transactions::beginTransaction);
        if (error == null) {
            return null;
        }
        if (transactions.wayOut(error) == WayOut.ABORT) {
            abort();
        } else {
            renew();
        }
        return transactions.nameOf(error);
    }

    /** Send the records. Return the error with which the client refused one of them, or null. */
    private String send(Command.Produce records, Sent sent) {
        for (int index = 0; index < records.values().size(); index++) {
            long n = records.first() + index;
            String key = records.keys().get(index);
            String value = records.values().get(index);
            Result result = new Result(sent::add, n);
            adapter.send(records.topic(), key, value, records.partition(index), result);
            if (sent.errors.containsKey(n)) {
                return sent.errors.get(n);
            }
        }
        return null;
    }

    private Ended commit() throws InterruptedException {
        RuntimeException error = attempted("commit_transaction", transactions::commitTransaction);
        if (error == null) {
            return Ended.AS_ASKED;
        }
        String name = transactions.nameOf(error);
        if (transactions.wayOut(error) == WayOut.ABORT) {
            // The client says that it did not commit, and never will.
            return new Ended(abort() ? "fail" : "info", name);
        }
        renew();
        return new Ended("info", name);
    }

    private boolean abort() throws InterruptedException {
        RuntimeException error = attempted("abort_transaction", transactions::abortTransaction);
        if (error != null) {
            renew();
        }
        return error == null;
    }

    private void renew() throws InterruptedException {
        ready = false;
        transactions.renew();
        Thread.sleep(ERROR_PAUSE_MS);
    }

    /** Make a call as often as the client asks for it. Return the last error, or null. */
    private RuntimeException attempted(String op, Runnable call) throws InterruptedException {
        RuntimeException error = called(op, call);
        for (int more = 1; more < ATTEMPTS && mayRepeat(error); more++) {
            Thread.sleep(ERROR_PAUSE_MS);
            error = called(op, call);
        }
        return error;
    }

    private boolean mayRepeat(RuntimeException error) {
        return error != null
                && transactions.wayOut(error) == WayOut.REPEAT
                && !hurried.getAsBoolean();
    }

    private RuntimeException called(String op, Runnable call) {
        long invokeNs = answers.invoke(op, id);
        try {
            call.run();
        } catch (RuntimeException error) {
            String outcome = transactions.wayOut(error).outcome;
            answers.complete(op, id, invokeNs, outcome, transactions.nameOf(error));
            return error;
        }
        answers.complete(op, id, invokeNs, null);
        return null;
    }

    /** How a transaction ended, and the error that kept it from the end that was asked for. */
    private record Ended(String outcome, String error) {
        static final Ended AS_ASKED = new Ended("ok", null);
    }

    /** Where the records of one transaction were written, as far as the client has told. */
    private static final class Sent {
        final Map<Long, Results.Row> places = new ConcurrentHashMap<>();
        final Map<Long, String> errors = new ConcurrentHashMap<>();

        void add(Results.Row row) {
            if (row.outcome().equals("ok")) {
                places.put(row.record(), row);
            } else {
                errors.put(row.record(), row.error());
            }
        }
    }
}
