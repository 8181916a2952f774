package verifiable;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * The application of one consumer: it polls, works, commits, and between two turns executes
 * commands, all on one thread.
 */
final class PollLoop {
    private static final Duration POLL = Duration.ofMillis(100);

    /** A client whose poll or commit fails at once would otherwise write events without end. */
    private static final long AFTER_ERROR_MS = 100;

    private final ConsumerAdapter consumer;
    private final ConsumerEvents events;
    private final Answers answers;
    private final Commits commits;
    private final Rebalances rebalances;
    private final BlockingQueue<Runnable> calls = new LinkedBlockingQueue<>();
    private boolean polling;
    private boolean closed;
    private long processingMs;
    private String mode = "none";

    PollLoop(ConsumerAdapter consumer, Output output) {
        this.consumer = consumer;
        events = new ConsumerEvents(output);
        answers = new Answers(output);
        commits = new Commits(consumer, events);
        rebalances = new Rebalances(events, commits::forget);
    }

    /** The listener for the client. */
    ConsumerAdapter.Listener listener() {
        return rebalances;
    }

    /** Execute a command between two turns. It may be called on any thread. */
    void add(Command.ForConsumer command) {
        calls.add(() -> answered(command, () -> execute(command)));
    }

    /** Wake the client up, on the calling thread. */
    void wakeup(Command.Wakeup command) {
        answered(command, consumer::wakeup);
    }

    /** Leave out the commands that have not begun, except a close. */
    void hurry() {
        calls.removeIf(call -> !(call instanceof FutureTask));
    }

    /** Close the client after the commands before, and return whether it is done. */
    boolean close(Duration timeout) throws InterruptedException, ExecutionException {
        FutureTask<Boolean> closing = new FutureTask<>(() -> closeNow(timeout));
        calls.add(closing);
        return closing.get();
    }

    /** Poll and execute commands until the client is closed. */
    void run() throws InterruptedException {
        while (!closed) {
            Runnable call = polling ? calls.poll() : calls.take();
            if (call != null) {
                call.run();
            } else {
                turn();
            }
        }
    }

    private void turn() throws InterruptedException {
        List<Batch> batches;
        try {
            batches = consumer.poll(POLL);
        } catch (RuntimeException error) {
            report("poll", error);
            Thread.sleep(AFTER_ERROR_MS);
            return;
        }
        process(batches);
    }

    private void process(List<Batch> batches) throws InterruptedException {
        if (batches.isEmpty()) {
            return;
        }
        long polledNs = System.nanoTime();
        if (mode.equals("sync-first") && !commit("sync", Commits.after(batches))) {
            goBack(batches);
            Thread.sleep(AFTER_ERROR_MS);
            return;
        }
        Thread.sleep(processingMs);
        events.consumed(batches, polledNs);
        commits.processed(batches);
        if (mode.equals("sync") || mode.equals("async")) {
            commit(mode, Commits.after(batches));
        }
    }

    /** Set the positions to the first of these records, which are not processed. */
    private void goBack(List<Batch> batches) {
        for (Batch each : batches) {
            try {
                consumer.seek(each.first());
            } catch (UnsupportedOperationException cannot) {
                return; // the records are dropped
            } catch (RuntimeException error) {
                report("seek", error);
            }
        }
    }

    /** Return whether the commit has not failed. */
    private boolean commit(String how, List<Position> offsets) {
        try {
            commitNow(how, offsets);
            return true;
        } catch (RuntimeException error) {
            report("commit", error);
            return false;
        }
    }

    private void commitNow(String how, List<Position> offsets) {
        if (how.equals("async")) {
            commits.async(offsets);
        } else {
            commits.sync(offsets);
        }
    }

    private boolean closeNow(Duration timeout) {
        closed = true;
        try {
            return consumer.close(timeout);
        } catch (RuntimeException error) {
            report("close", error);
            return false;
        }
    }

    private void answered(Command.ForConsumer command, Runnable call) {
        long invokeNs = System.nanoTime();
        try {
            call.run();
        } catch (UnsupportedOperationException cannot) {
            answers.unsupported(command.op(), command.id());
            return;
        } catch (RuntimeException error) {
            report(command.op(), error);
            answers.complete(command.op(), command.id(), invokeNs, ConsumerEvents.name(error));
            return;
        }
        answers.complete(command.op(), command.id(), invokeNs, null);
    }

    private void execute(Command.ForConsumer command) {
        if (command instanceof Command.Subscribe subscribe) {
            if (subscribe.pattern() == null) {
                consumer.subscribe(subscribe.topics());
            } else {
                consumer.subscribePattern(subscribe.pattern());
            }
            begin(subscribe.commit(), subscribe.processingMs());
        } else if (command instanceof Command.Assign assign) {
            consumer.assign(assign.partitions());
            begin(assign.commit(), assign.processingMs());
        } else if (command instanceof Command.Unsubscribe) {
            consumer.unsubscribe();
            commits.forgetAll();
            polling = false;
        } else if (command instanceof Command.Seek seek) {
            consumer.seek(seek.position());
            commits.forget(List.of(seek.position().place()));
        } else if (command instanceof Command.Pause pause) {
            consumer.pause(pause.partitions());
        } else if (command instanceof Command.Resume resume) {
            consumer.resume(resume.partitions());
        } else if (command instanceof Command.Commit commit) {
            commitNow(commit.how(), commits.processed());
        } else if (command instanceof Command.Attempt attempt) {
            attempt(attempt);
        } else if (command instanceof Command.Process process) {
            processingMs = process.processingMs();
        } else if (command instanceof Command.Throw throwing) {
            rebalances.throwIn(throwing.callback(), throwing.times());
        }
    }

    /** Make a call that the client may refuse. The application itself stays as it is. */
    private void attempt(Command.Attempt attempt) {
        if (attempt.call().equals("poll")) {
            List<Batch> batches = consumer.poll(POLL);
            try {
                process(batches);
            } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
            }
        } else {
            consumer.assign(attempt.partitions());
        }
    }

    private void begin(String commit, long processing) {
        mode = commit;
        processingMs = processing;
        polling = true;
    }

    private void report(String call, RuntimeException error) {
        events.error(call, error, consumer.isRetriable(error));
    }
}
