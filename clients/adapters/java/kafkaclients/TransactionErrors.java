package kafkaclients;

import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.UnsupportedVersionException;

import verifiable.TransactionAdapter.WayOut;

import java.util.List;

/** What the documentation of KafkaProducer lets an application do after an error of its calls. */
final class TransactionErrors {
    /** The call may be in progress, and only the same call is allowed. */
    private static final List<Class<? extends RuntimeException>> UNKNOWN =
            List.of(TimeoutException.class, InterruptException.class);

    private static final List<Class<? extends RuntimeException>> FATAL =
            List.of(
                    ProducerFencedException.class,
                    OutOfOrderSequenceException.class,
                    AuthorizationException.class,
                    UnsupportedVersionException.class);

    private TransactionErrors() {}

    /** Any other exception of Kafka is to be aborted. If that is not possible, the abort throws. */
    static WayOut wayOut(RuntimeException error) {
        if (isOneOf(UNKNOWN, error)) {
            return WayOut.REPEAT;
        }
        boolean fatal = isOneOf(FATAL, error) || !(error instanceof KafkaException);
        return fatal ? WayOut.CLOSE : WayOut.ABORT;
    }

    private static boolean isOneOf(
            List<Class<? extends RuntimeException>> kinds, RuntimeException error) {
        return kinds.stream().anyMatch(kind -> kind.isInstance(error));
    }
}
