package main

import "github.com/twmb/franz-go/pkg/kgo"

// anyPartition is the partition of a record that leaves it to the client.
const anyPartition = -1

// defaultPartitioner is the one that kgo takes where it is told of none.
var defaultPartitioner = func() kgo.Partitioner { return kgo.StickyKeyPartitioner(nil) }

// placed puts records that name their partition there, and leaves the others to the partitioner it wraps.
type placed struct{ kgo.Partitioner }

func (p placed) ForTopic(topic string) kgo.TopicPartitioner {
	inner := p.Partitioner.ForTopic(topic)
	if byBackup, ok := inner.(kgo.TopicBackupPartitioner); ok {
		return placedByBackup{byBackup}
	}
	return placedInTopic{inner}
}

type placedInTopic struct{ kgo.TopicPartitioner }

func (p placedInTopic) RequiresConsistency(record *kgo.Record) bool {
	return record.Partition != anyPartition || p.TopicPartitioner.RequiresConsistency(record)
}

func (p placedInTopic) Partition(record *kgo.Record, partitions int) int {
	if record.Partition != anyPartition {
		return int(record.Partition)
	}
	return p.TopicPartitioner.Partition(record, partitions)
}

func (p placedInTopic) OnNewBatch() {
	if inner, ok := p.TopicPartitioner.(kgo.TopicPartitionerOnNewBatch); ok {
		inner.OnNewBatch()
	}
}

type placedByBackup struct{ kgo.TopicBackupPartitioner }

func (p placedByBackup) RequiresConsistency(record *kgo.Record) bool {
	return record.Partition != anyPartition || p.TopicBackupPartitioner.RequiresConsistency(record)
}

func (p placedByBackup) PartitionByBackup(record *kgo.Record, partitions int, backup kgo.TopicBackupIter) int {
	if record.Partition != anyPartition {
		return int(record.Partition)
	}
	return p.TopicBackupPartitioner.PartitionByBackup(record, partitions, backup)
}
