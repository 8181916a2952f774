//go:build since_2_3

package main

import (
	"adapter/verifiable"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

func init() {
	epochOf = func(record *kafka.Message) int32 {
		if epoch := record.TopicPartition.LeaderEpoch; epoch != nil {
			return *epoch
		}
		return verifiable.UnknownEpoch
	}
}
