package verifiable;

import java.util.List;

/** Writes a consumer's events. */
final class ConsumerEvents {
    private final Output output;

    ConsumerEvents(Output output) {
        this.output = output;
    }

    void assigned(List<Place> partitions, int generation, String memberId) {
        Fields fields = new Fields().with("partitions", places(partitions));
        fields.with("generation", generation).with("member_id", memberId);
        output.event("partitions_assigned", fields);
    }

    void revoked(List<Place> partitions) {
        output.event("partitions_revoked", new Fields().with("partitions", places(partitions)));
    }

    void lost(List<Place> partitions) {
        output.event("partitions_lost", new Fields().with("partitions", places(partitions)));
    }

    void consumed(List<Batch> batches, long polledNs) {
        Fields fields = new Fields().with("count", batches.stream().mapToInt(Batch::count).sum());
        fields.with("partitions", batches.stream().map(Batch::fields).toList());
        output.event("records_consumed", fields.with("polled_ns", polledNs));
    }

    void committed(List<Position> offsets, String how, long invokeNs, Exception error) {
        Fields fields = new Fields();
        fields.with("offsets", offsets.stream().map(Position::fields).toList());
        fields.with("success", error == null).with("how", how).with("invoke_ns", invokeNs);
        fields.with("complete_ns", System.nanoTime());
        output.event("offsets_committed", fields.with("error", error == null ? null : name(error)));
    }

    void error(String call, Exception error, Boolean retriable) {
        Fields fields = new Fields().with("call", call).with("error", name(error));
        fields.with("message", String.valueOf(error.getMessage()));
        output.event("consumer_error", fields.with("retriable", retriable));
    }

    /** The client's own name for an error. */
    static String name(Exception error) {
        return error.getClass().getSimpleName();
    }

    private static List<Object> places(List<Place> partitions) {
        return partitions.stream().map(Place::fields).toList();
    }
}
