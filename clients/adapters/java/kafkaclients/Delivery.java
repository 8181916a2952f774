package kafkaclients;

import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.errors.TimeoutException;

import verifiable.Result;

import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The producer's result for one record, from its callback or from an exception of {@code send()}.
 *
 * <p>A definite failure is reported only if {@code send()} itself rejects the record. In that case
 * the callback runs, or the exception is thrown, on the thread that called {@code send()}.
 * Exceptions of these kinds occur there only while it waits for the topic's metadata, serializes
 * and measures the record, or requests memory. All of that happens before the record is appended to
 * a batch. The same exceptions on the producer's own thread are {@code info}, whatever they are: a
 * broker's rejection of the last attempt, or an expired batch, says nothing about an earlier
 * attempt whose response was lost.
 */
final class Delivery implements Callback {
    private static final List<Class<? extends RuntimeException>> BEFORE_APPEND =
            List.of(
                    TimeoutException.class,
                    RecordTooLargeException.class,
                    SerializationException.class,
                    InvalidTopicException.class,
                    AuthorizationException.class,
                    IllegalArgumentException.class);

    private final Result result;
    private final Thread caller = Thread.currentThread();
    private final AtomicBoolean told = new AtomicBoolean();
    private volatile boolean thrown;

    Delivery(Result result) {
        this.result = result;
    }

    @Override
    public void onCompletion(RecordMetadata metadata, Exception error) {
        // From 3.3 on, a producer in its fatal state appends a record, throws, and then aborts its
        // batch as well. That is one result. If a callback runs twice without an exception, it is
        // the client's fault, and both are passed on.
        if (told.getAndSet(true) && thrown) {
            System.err.println("after an exception of send(), its callback reports " + error);
        } else if (error == null) {
            result.ok(metadata.partition(), metadata.offset());
        } else {
            gaveUp(error);
        }
    }

    /** Record an exception of {@code send()}. */
    void thrown(RuntimeException error) {
        thrown = true;
        if (!told.getAndSet(true)) {
            gaveUp(error);
        }
    }

    private void gaveUp(Exception error) {
        String name = error.getClass().getSimpleName();
        boolean refused =
                Thread.currentThread() == caller
                        && BEFORE_APPEND.stream().anyMatch(kind -> kind.isInstance(error));
        if (refused) {
            result.fail(name);
        } else {
            result.info(name);
        }
    }
}
