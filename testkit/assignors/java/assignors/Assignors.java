package assignors;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.AbstractPartitionAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/**
 * Answers from Java's assignors. One request per line, in words; bytes are hexadecimal, and "-" means none.
 *
 * <pre>
 * new ASSIGNOR                   makes a new instance
 * topic NAME RACKS|RACKS         adds a topic; the racks of each partition's replicas are separated by commas
 * member ID INSTANCE BYTES       adds a member with its subscription
 * assign                         answers "topics", "members" (both in the order in which Java iterates), one
 *                                "assigned ID BYTES" for each member, or "failed CLASS", then "end"
 * told GENERATION BYTES          tells the instance an assignment; answers its user data
 * subscription VERSION BYTES     decodes a subscription and answers how Java encodes it
 * assignment VERSION BYTES       decodes an assignment and answers how Java encodes it
 * </pre>
 */
public final class Assignors {
    private static final String NONE = "-";
    private static final HexFormat HEX = HexFormat.of();

    private final PrintStream out = System.out;
    private AbstractPartitionAssignor assignor;
    private Map<String, List<PartitionInfo>> topics = new HashMap<>();
    private Map<String, Subscription> members = new HashMap<>();

    public static void main(String[] args) throws IOException {
        Assignors answers = new Assignors();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine())
            answers.answer(line.split(" "));
    }

    private void answer(String[] words) {
        switch (words[0]) {
            case "new" -> assignor = made(words[1]);
            case "topic" -> topics.put(words[1], partitions(words[1], words[2]));
            case "member" -> addMember(words[1], words[2], bytes(words[3]));
            case "assign" -> assign();
            case "told" -> tell(Integer.parseInt(words[1]), bytes(words[2]));
            case "subscription" -> say(ConsumerProtocol.serializeSubscription(
                ConsumerProtocol.deserializeSubscription(bytes(words[2])), Short.parseShort(words[1])));
            case "assignment" -> say(ConsumerProtocol.serializeAssignment(
                ConsumerProtocol.deserializeAssignment(bytes(words[2])), Short.parseShort(words[1])));
            default -> throw new IllegalArgumentException(words[0]);
        }
        out.flush();
    }

    private static AbstractPartitionAssignor made(String name) {
        return switch (name) {
            case "range" -> new RangeAssignor();
            case "roundrobin" -> new RoundRobinAssignor();
            case "sticky" -> new StickyAssignor();
            case "cooperative-sticky" -> new CooperativeStickyAssignor();
            default -> throw new IllegalArgumentException(name);
        };
    }

    private static List<PartitionInfo> partitions(String topic, String racks) {
        List<PartitionInfo> made = new ArrayList<>();
        for (String ofPartition : racks.split("\\|")) {
            List<Node> replicas = new ArrayList<>();
            for (String rack : ofPartition.split(","))
                replicas.add(new Node(replicas.size(), "host", 9092, rack.equals(NONE) ? null : rack));
            Node[] nodes = replicas.toArray(new Node[0]);
            made.add(new PartitionInfo(topic, made.size(), nodes[0], nodes, nodes));
        }
        return made;
    }

    private void addMember(String id, String instance, ByteBuffer encoded) {
        Subscription subscription = ConsumerProtocol.deserializeSubscription(encoded);
        subscription.setGroupInstanceId(instance.equals(NONE) ? Optional.empty() : Optional.of(instance));
        members.put(id, subscription);
    }

    private void assign() {
        out.println("topics " + String.join(" ", topics.keySet()));
        out.println("members " + String.join(" ", members.keySet()));
        try {
            assignor.assignPartitions(topics, members).forEach((member, partitions) ->
                out.println("assigned " + member + " " + hex(ConsumerProtocol.serializeAssignment(new Assignment(partitions)))));
        } catch (RuntimeException e) {
            out.println("failed " + e.getClass().getSimpleName());
        }
        out.println("end");
        topics = new HashMap<>();
        members = new HashMap<>();
    }

    private void tell(int generation, ByteBuffer encoded) {
        Assignment assignment = ConsumerProtocol.deserializeAssignment(encoded);
        assignor.onAssignment(assignment, new ConsumerGroupMetadata("group", generation, "member", Optional.empty()));
        say(assignor.subscriptionUserData(Set.of()));
    }

    private void say(ByteBuffer answer) {
        out.println(answer == null ? NONE : hex(answer));
    }

    private static ByteBuffer bytes(String hex) {
        return ByteBuffer.wrap(HEX.parseHex(hex));
    }

    private static String hex(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return HEX.formatHex(bytes);
    }
}
