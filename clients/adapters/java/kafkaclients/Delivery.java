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
 * What the producer says of one record, by its callback or by an exception out of {@code send()}.
 *
 * <p>Definite failure is claimed only where {@code send()} itself refuses the record: then the
 * callback runs, or the exception comes, on the thread that called {@code send()}, and of these
 * kinds only while the topic's metadata is waited for, the record is serialized and measured, or
 * memory is asked for. All of that is done before the record is appended to a batch. The same
 * exceptions on the producer's own thread are {@code info}, whatever they are: a broker's refusal
 * of the last attempt, or a batch that expired, says nothing of an earlier attempt whose response
 * was lost.
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
        // batch as well: that is one result. A callback that comes twice without an exception is
        // the client's doing, and is passed on.
        if (told.getAndSet(true) && thrown) {
            System.err.println("after an exception of send(), its callback tells of " + error);
        } else if (error == null) {
            result.ok(metadata.partition(), metadata.offset());
        } else {
            gaveUp(error);
        }
    }

    /** {@code send()} threw. */
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
