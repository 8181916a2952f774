package main

import "github.com/twmb/franz-go/pkg/kgo"

// anyPartition is the partition of a record for which the client chooses.
const anyPartition = -1

// defaultPartitioner returns the partitioner that kgo uses by default.
var defaultPartitioner = func() kgo.Partitioner { return kgo.StickyKeyPartitioner(nil) }

// placed puts records with a partition there. The wrapped partitioner chooses for the others.
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
