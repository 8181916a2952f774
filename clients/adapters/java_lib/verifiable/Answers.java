package verifiable;

import java.util.Collections;
import java.util.List;

/** Writes the answers to commands that have one result: flush, close, and those of a consumer. */
final class Answers {
    private final Output output;

    Answers(Output output) {
        this.output = output;
    }

    /** Write the result of a command, from its begin to now. Without an error, it is ok. */
    void complete(String op, long id, long invokeNs, String error) {
        Fields fields = new Fields().with("op", op).with("id", id);
        fields.with("outcome", List.of(error == null ? "ok" : "fail"));
        fields.with("error", Collections.singletonList(error));
        fields.with("invoke_ns", List.of(invokeNs));
        output.event("op_complete", fields.with("complete_ns", List.of(System.nanoTime())));
    }

    /** The program or its client does not know a command. */
    void unsupported(String command, long id) {
        output.event("unsupported", new Fields().with("cmd", command).with("id", id));
    }
}
