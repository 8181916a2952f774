package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"adapter/verifiable"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

const (
	mostRecords = 500 // Java's default of max.poll.records
	pollSlice   = 100 * time.Millisecond
	seekTimeout = 5_000 // milliseconds; newer versions ignore it
	revocation  = time.Second

	// firstWithProtocol is the librdkafka from which on the consumer protocol is more than an experiment: 2.10.
	firstWithProtocol = 0x020a0000
)

// consumer wraps a kafka.Consumer. Its callbacks run in Poll and Close, in the application's goroutine.
type consumer struct {
	client   *kafka.Consumer
	listener *verifiable.Listener
	taken    *verifiable.Taken // of the newest poll
	most     int
	isAuto   bool
}

// epochOf returns the leader epoch of a record. Versions before 2.3 do not report it.
var epochOf = func(*kafka.Message) int32 { return verifiable.UnknownEpoch }

func consumerFeatures() []string {
	features := []string{"consumer", "group", "cooperative"}
	if number, _ := kafka.LibraryVersion(); number >= firstWithProtocol {
		features = append(features, "consumer_protocol")
	}
	return append(features, "static_membership", "read_committed", "assign", "seek", "pause", "pattern")
}

func (c *consumer) Configure(
	config verifiable.Config, own map[string]string, listener *verifiable.Listener,
) (verifiable.Told, error) {
	c.listener, c.most, c.taken = listener, mostRecords, &verifiable.Taken{}
	c.isAuto = config["enable.auto.commit"] != "false"
	if asked, err := config["max.poll.records"].Int(); err == nil {
		c.most = asked
	}
	wanted := properties{}
	told := wanted.translate(config, consumers)
	if _, grouped := config["group.id"]; !grouped {
		wanted["group.id"] = kafka.ConfigMap{"group.id": "none"} // librdkafka requires one, and Assign does not join it
	}
	return wanted.build(told, own, func(all *kafka.ConfigMap) (err error) {
		c.client, err = kafka.NewConsumer(all)
		return err
	})
}

func (c *consumer) Subscribe(topics []string, pattern, commit string) error {
	if commit == "async" {
		return verifiable.ErrUnsupported
	}
	if pattern != "" {
		topics = []string{anchored(pattern)}
	}
	return c.client.SubscribeTopics(topics, c.rebalanced)
}

// anchored marks a pattern for librdkafka, which takes what begins with ^ as one.
func anchored(pattern string) string {
	if pattern[0] == '^' {
		return pattern
	}
	return "^" + pattern
}

func (c *consumer) Assign(partitions []verifiable.Position, commit string) error {
	if commit == "async" {
		return verifiable.ErrUnsupported
	}
	var all []kafka.TopicPartition
	for _, each := range partitions {
		at := kafka.OffsetInvalid // the committed offset, or where auto.offset.reset says
		if each.Offset != verifiable.Latest {
			at = kafka.Offset(each.Offset)
		}
		all = append(all, kafka.TopicPartition{Topic: &each.Topic, Partition: each.Partition, Offset: at})
	}
	return c.client.Assign(all)
}

// Unsubscribe also serves the revocation, which librdkafka begins with it and ends in a callback.
func (c *consumer) Unsubscribe() error {
	if err := c.client.Unsubscribe(); err != nil {
		return err
	}
	for deadline := time.Now().Add(revocation); time.Now().Before(deadline); {
		if assigned, err := c.client.Assignment(); err != nil || len(assigned) == 0 {
			return err
		}
		if err := c.take(pollSlice); err != nil {
			return err
		}
	}
	return c.client.Unassign() // what was assigned without a group
}

func (c *consumer) Seek(position verifiable.Position) error {
	at := kafka.TopicPartition{
		Topic: &position.Topic, Partition: position.Partition, Offset: kafka.Offset(position.Offset),
	}
	return c.client.Seek(at, seekTimeout)
}

func (c *consumer) Pause(partitions []verifiable.Place) error {
	return c.client.Pause(librdkafkas(partitions))
}

func (c *consumer) Resume(partitions []verifiable.Place) error {
	return c.client.Resume(librdkafkas(partitions))
}

// Poll takes what librdkafka has, which hands over one record at a time.
func (c *consumer) Poll(ctx context.Context, taken *verifiable.Taken) error {
	c.taken = taken
	err := c.take(pollSlice)
	for before := -1; err == nil && ctx.Err() == nil && before < taken.Count() && taken.Count() < c.most; {
		before = taken.Count()
		err = c.take(0)
	}
	return err
}

// take takes the next event of librdkafka, if there is one in time.
func (c *consumer) take(timeout time.Duration) error {
	switch told := c.client.Poll(int(timeout.Milliseconds())).(type) {
	case nil:
	case *kafka.Message:
		if told.TopicPartition.Error != nil {
			return told.TopicPartition.Error
		}
		place := verifiable.Place{Topic: *told.TopicPartition.Topic, Partition: told.TopicPartition.Partition}
		c.taken.Add(place, int64(told.TopicPartition.Offset), told.Key, told.Value, epochOf(told))
	case kafka.OffsetsCommitted:
		c.committed(told)
	case kafka.Error:
		return told
	default:
		fmt.Fprintln(os.Stderr, "librdkafka:", told)
	}
	return nil
}

// committed reports an automatic commit. The result of another one is what Commit returned.
func (c *consumer) committed(told kafka.OffsetsCommitted) {
	if !c.isAuto {
		return
	}
	name, failed := "", told.Error
	var offsets []verifiable.Position
	for _, each := range told.Offsets {
		if each.Offset < 0 {
			continue // nothing new
		}
		offsets = append(offsets, verifiable.Position{
			Topic: *each.Topic, Partition: each.Partition, Offset: int64(each.Offset),
		})
		if failed == nil {
			failed = each.Error
		}
	}
	if failed != nil {
		name, _ = c.ErrorName(failed)
	}
	if len(offsets) > 0 {
		c.listener.Committed(offsets, name)
	}
}

// rebalanced is librdkafka's callback. It may come in the middle of a poll.
func (c *consumer) rebalanced(client *kafka.Consumer, event kafka.Event) error {
	c.listener.WorkFirst()
	switch told := event.(type) {
	case kafka.AssignedPartitions:
		return c.listener.Assigned(places(told.Partitions), -1, "")
	case kafka.RevokedPartitions:
		if client.AssignmentLost() {
			return c.listener.Lost(places(told.Partitions))
		}
		return c.listener.Revoked(places(told.Partitions))
	}
	return nil
}

func (c *consumer) Commit(offsets []verifiable.Position) error {
	if len(offsets) == 0 {
		return nil // librdkafka takes no offsets as its own stored ones
	}
	var all []kafka.TopicPartition
	for _, each := range offsets {
		all = append(all, kafka.TopicPartition{
			Topic: &each.Topic, Partition: each.Partition, Offset: kafka.Offset(each.Offset),
		})
	}
	committed, err := c.client.CommitOffsets(all)
	for _, each := range committed {
		if err == nil {
			err = each.Error
		}
	}
	return err
}

// CommitAsync: the client has only commits that wait for the result.
func (c *consumer) CommitAsync([]verifiable.Position, func(error)) error {
	return verifiable.ErrUnsupported
}

func (c *consumer) Close(ctx context.Context) bool {
	done := make(chan error, 1)
	go func() { done <- c.client.Close() }()
	select {
	case err := <-done:
		return err == nil
	case <-ctx.Done():
		return false
	}
}

func (c *consumer) ErrorName(err error) (string, *bool) {
	var told kafka.Error
	if errors.As(err, &told) {
		retriable := told.IsRetriable()
		return told.Code().String(), &retriable
	}
	return verifiable.Cause(err), nil
}

// Abilities: nothing interrupts a poll, and librdkafka ignores the error of a callback.
func (c *consumer) Abilities() verifiable.Abilities { return verifiable.Abilities{} }

func librdkafkas(places []verifiable.Place) []kafka.TopicPartition {
	var all []kafka.TopicPartition
	for _, place := range places {
		all = append(all, kafka.TopicPartition{Topic: &place.Topic, Partition: place.Partition})
	}
	return all
}

func places(partitions []kafka.TopicPartition) []verifiable.Place {
	var all []verifiable.Place
	for _, each := range partitions {
		all = append(all, verifiable.Place{Topic: *each.Topic, Partition: each.Partition})
	}
	return all
}
