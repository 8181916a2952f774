package verifiable;

import java.util.Collections;
import java.util.List;

/** Writes what has one result: flush, close, the calls of a transaction, and of a consumer. */
final class Answers {
    private final Output output;

    Answers(Output output) {
        this.output = output;
    }

    /** Write that a call begins. Return the time, for its result. */
    long invoke(String op, long id) {
        output.event("op_invoke", new Fields().with("op", op).with("id", id));
        return System.nanoTime();
    }

    /** Write the result of a command, from its begin to now. Without an error, it is ok. */
    void complete(String op, long id, long invokeNs, String error) {
        complete(op, id, invokeNs, error == null ? "ok" : "fail", error);
    }

    /** Write the result of a call of which the outcome may be unknown. */
    void complete(String op, long id, long invokeNs, String outcome, String error) {
        Fields fields = new Fields().with("op", op).with("id", id);
        fields.with("outcome", List.of(outcome));
        fields.with("error", Collections.singletonList(error));
        fields.with("invoke_ns", List.of(invokeNs));
        output.event("op_complete", fields.with("complete_ns", List.of(System.nanoTime())));
    }

    /** The program or its client does not know a command. */
    void unsupported(String command, long id) {
        output.event("unsupported", new Fields().with("cmd", command).with("id", id));
    }
}
