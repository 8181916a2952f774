package kafkaclients;

import static java.util.stream.Collectors.toMap;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.StringDeserializer;

import verifiable.Adapter.ConfigRefused;
import verifiable.Adapter.Configured;
import verifiable.Batch;
import verifiable.ConsumerAdapter;
import verifiable.Place;
import verifiable.Position;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/** Apache Kafka's own consumer. */
final class GroupConsumer implements ConsumerAdapter {
    private final String version;
    private final Set<String> known = ConsumerConfig.configNames();
    private Consumer<String, String> consumer;
    private ConsumerRebalanceListener rebalances;

    GroupConsumer(String version) {
        this.version = version;
    }

    /** What this version can do, in the words of the contract. */
    List<String> features() {
        List<String> features = new ArrayList<>(List.of("consumer", "group"));
        if (Settings.has("CooperativeStickyAssignor")) { // from 2.4 on
            features.add("cooperative");
        }
        if (known.contains("group.protocol")) { // from 3.7 on
            features.add("consumer_protocol");
        }
        if (known.contains("group.instance.id")) { // from 2.3 on
            features.add("static_membership");
        }
        features.addAll(
                List.of("read_committed", "assign", "seek", "pause", "pattern", "wakeup", "attempt"));
        return features;
    }

    @Override
    public Configured configure(
            Map<String, Object> config,
            Map<String, String> own,
            Map<String, String> ownNotSet,
            Listener listener)
            throws ConfigRefused {
        Settings settings = new Settings(version, known).take(config, own, ownNotSet);
        StringDeserializer text = new StringDeserializer();
        try {
            consumer = new KafkaConsumer<>(settings.properties(), text, new StringDeserializer());
        } catch (KafkaException error) {
            throw Settings.refusal(error);
        }
        rebalances = new Rebalances(listener, new Membership(consumer));
        return settings.configured();
    }

    @Override
    public void subscribe(List<String> topics) {
        consumer.subscribe(topics, rebalances);
    }

    @Override
    public void subscribePattern(String pattern) {
        consumer.subscribe(Pattern.compile(pattern), rebalances);
    }

    @Override
    public void assign(List<Position> partitions) {
        consumer.assign(partitions.stream().map(each -> kafkas(each.place())).toList());
        for (Position each : partitions) {
            if (each.offset() != Position.LATEST) {
                seek(each);
            }
        }
    }

    @Override
    public void unsubscribe() {
        consumer.unsubscribe();
    }

    @Override
    public void seek(Position position) {
        TopicPartition partition = kafkas(position.place());
        if (position.offset() == Position.EARLIEST) {
            consumer.seekToBeginning(List.of(partition));
        } else if (position.offset() == Position.LATEST) {
            consumer.seekToEnd(List.of(partition));
        } else {
            consumer.seek(partition, position.offset());
        }
    }

    @Override
    public void pause(List<Place> partitions) {
        consumer.pause(partitions.stream().map(GroupConsumer::kafkas).toList());
    }

    @Override
    public void resume(List<Place> partitions) {
        consumer.resume(partitions.stream().map(GroupConsumer::kafkas).toList());
    }

    @Override
    public List<Batch> poll(Duration timeout) {
        ConsumerRecords<String, String> records = consumer.poll(timeout);
        List<Batch> batches = new ArrayList<>();
        for (TopicPartition partition : records.partitions()) {
            Batch batch = new Batch(new Place(partition.topic(), partition.partition()));
            for (ConsumerRecord<String, String> each : records.records(partition)) {
                int leaderEpoch = each.leaderEpoch().orElse(-1);
                batch.add(each.offset(), each.key(), each.value(), leaderEpoch);
            }
            batches.add(batch);
        }
        return batches;
    }

    @Override
    public void commitSync(List<Position> offsets) {
        consumer.commitSync(kafkas(offsets));
    }

    @Override
    public void commitAsync(List<Position> offsets, Done done) {
        consumer.commitAsync(kafkas(offsets), (committed, error) -> done.complete(error));
    }

    @Override
    public void wakeup() {
        consumer.wakeup();
    }

    /** It returns within the timeout, and does not say what it left out. */
    @Override
    public boolean close(Duration timeout) {
        consumer.close(timeout);
        return true;
    }

    @Override
    public Boolean isRetriable(RuntimeException error) {
        return error instanceof KafkaException ? error instanceof RetriableException : null;
    }

    private static TopicPartition kafkas(Place place) {
        return new TopicPartition(place.topic(), place.partition());
    }

    private static Map<TopicPartition, OffsetAndMetadata> kafkas(List<Position> offsets) {
        return offsets.stream()
                .collect(
                        toMap(
                                each -> kafkas(each.place()),
                                each -> new OffsetAndMetadata(each.offset())));
    }

    /** Passes Kafka's callbacks on. Kafka has called the third since 2.4. */
    private record Rebalances(Listener listener, Membership membership)
            implements ConsumerRebalanceListener {
        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            listener.assigned(places(partitions), membership.generation(), membership.memberId());
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            listener.revoked(places(partitions));
        }

        // Without @Override, because older versions have no such method.
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            listener.lost(places(partitions));
        }

        private static List<Place> places(Collection<TopicPartition> partitions) {
            return partitions.stream()
                    .map(each -> new Place(each.topic(), each.partition()))
                    .toList();
        }
    }
}
