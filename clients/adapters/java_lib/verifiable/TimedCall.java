package verifiable;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeoutException;

/** A call of the client on a separate thread, which is interrupted and abandoned at a timeout. */
final class TimedCall {
    private TimedCall() {}

    /** A call whose answer is that it has returned. */
    static FutureTask<Boolean> of(Runnable call) {
        return new FutureTask<>(call, true);
    }

    /** Return the client's answer, or false at the timeout and after a cancellation. */
    static boolean within(Duration timeout, FutureTask<Boolean> answer) throws Exception {
        Thread thread = new Thread(answer);
        thread.setDaemon(true);
        thread.start();
        try {
            return answer.get(timeout.toMillis(), MILLISECONDS);
        } catch (TimeoutException | CancellationException over) {
            return false;
        } catch (ExecutionException error) {
            throw error.getCause() instanceof Exception cause ? cause : error;
        } finally {
            answer.cancel(true);
        }
    }
}
