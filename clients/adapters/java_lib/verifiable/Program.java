package verifiable;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Supplier;

/**
 * The lifecycle of one client process, from startup to close.
 *
 * <p>One thread reads commands, the main thread executes them, and one thread writes results and
 * the heartbeat, so that a client stuck in a call still sends it. The application of a consumer has
 * a thread of its own. A defect of the program itself ends the process with a {@code fatal} event:
 * exit code 2 for a line that is not a command, else 1.
 */
public final class Program {
    private static final int CONTRACT_VERSION = 2;
    private static final long RESULTS_INTERVAL_MS = 20;
    private static final long STATS_INTERVAL_NS = 1_000_000_000;

    /** A close without a command: end of stdin, SIGTERM, SIGINT. */
    private static final Command.Close UNASKED = new Command.Close(-1, 5_000);

    private final BlockingQueue<Command> commands = new LinkedBlockingQueue<>();
    private final Output output;
    private final Results results;
    private final Adapter adapter;
    private final Operations operations;

    private Program(Adapter adapter, Output output) {
        this.adapter = adapter;
        this.output = output;
        results = new Results(output);
        operations = new Operations(adapter, output, results);
    }

    /** Run the program of one adapter, built after stdout is redirected. Does not return. */
    public static void run(Supplier<Adapter> make) {
        Output output = new Output();
        new Program(make.get(), output).live(Thread.currentThread());
    }

    private void live(Thread main) {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> hurry(main)));
        guarded(this::introduce);
        daemon(this::read);
        daemon(this::beat);
        guarded(this::obey);
        Runtime.getRuntime().halt(0); // exit() would wait for the hook, which waits for this thread
    }

    private void introduce() {
        Adapter.About about = adapter.about();
        Fields fields = new Fields().with("client", about.client());
        fields.with("client_version", about.clientVersion());
        fields.with("library_version", about.libraryVersion());
        fields.with("language", about.language()).with("features", about.features());
        output.event("startup_complete", fields.with("contract_version", CONTRACT_VERSION));
    }

    private void obey() throws Exception {
        while (true) {
            Command command = commands.take();
            if (command instanceof Command.Close close) {
                operations.close(close);
                output.lastEvent("shutdown_complete", new Fields());
                return;
            } else if (command instanceof Command.Unknown unknown) {
                Fields fields = new Fields().with("cmd", unknown.name()).with("id", unknown.id());
                output.event("unsupported", fields);
            } else if (!operations.hurried()) {
                carryOut(command);
            }
        }
    }

    private void carryOut(Command command) throws Exception {
        if (command instanceof Command.Configure configure) {
            operations.configure(configure, loop -> daemon(loop::run));
        } else if (command instanceof Command.Produce produce) {
            operations.produce(produce);
        } else if (command instanceof Command.Transact transact) {
            operations.transact(transact);
        } else if (command instanceof Command.Flush flush) {
            operations.flush(flush);
        } else if (command instanceof Command.ForConsumer consume) {
            operations.consume(consume);
        }
    }

    private void read() throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            try {
                Command command = CommandLine.parse(line);
                if (command instanceof Command.Wakeup wakeup) {
                    operations.consume(wakeup); // the other thread may be what it wakes up
                } else {
                    commands.add(command);
                }
            } catch (CommandLine.BadCommand error) {
                fatal(error, 2);
            }
        }
        commands.add(UNASKED);
    }

    private void beat() throws InterruptedException {
        long nextStatsNs = System.nanoTime() + STATS_INTERVAL_NS;
        while (true) {
            Thread.sleep(RESULTS_INTERVAL_MS);
            results.write();
            if (System.nanoTime() - nextStatsNs >= 0) {
                nextStatsNs = System.nanoTime() + STATS_INTERVAL_NS;
                Fields fields = new Fields().with("sent", operations.sent());
                output.event("stats", fields.with("completed", results.count()));
            }
        }
    }

    /** The shutdown hook of a signal. The process ends when it returns, so it waits for main. */
    private void hurry(Thread main) {
        operations.hurry();
        commands.add(UNASKED);
        try {
            main.join();
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    private void daemon(Work work) {
        Thread thread = new Thread(() -> guarded(work));
        thread.setDaemon(true);
        thread.start();
    }

    private void guarded(Work work) {
        try {
            work.run();
        } catch (Throwable error) {
            error.printStackTrace();
            fatal(error, 1);
        }
    }

    private void fatal(Throwable error, int code) {
        results.write();
        Fields fields = new Fields().with("error", error.getClass().getSimpleName());
        output.lastEvent("fatal", fields.with("message", String.valueOf(error.getMessage())));
        Runtime.getRuntime().halt(code);
    }

    /** A function that may throw any exception. */
    private interface Work {
        void run() throws Exception;
    }
}
