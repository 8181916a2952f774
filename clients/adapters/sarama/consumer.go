package main

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"adapter/verifiable"

	"github.com/IBM/sarama"
)

const (
	mostRecords = 500 // Java's default of max.poll.records

	// commitGrace is how long after a commit its errors may still arrive: sarama passes them on by two goroutines.
	commitGrace = 20 * time.Millisecond
)

var errNoSession = errors.New("there is no session")

// reading is what a subscription or an assignment reads with, until it is stopped.
type reading interface {
	commit(offsets []verifiable.Position) error
	pause(partitions []verifiable.Place) error
	resume(partitions []verifiable.Place) error
	stop() error
}

// consumer turns sarama's messages, which each partition gets in a goroutine of its own, into turns of one poll loop.
type consumer struct {
	addresses []string
	config    *sarama.Config
	group     string
	listener  *verifiable.Listener
	isAuto    bool
	most      int
	reading   reading
	*verifiable.Handover
}

func consumerFeatures() []string {
	features := []string{"consumer", "group"}
	if cooperativeSticky != nil {
		features = append(features, "cooperative")
	}
	probe := sarama.NewConfig()
	if verifiable.SetField(probe, "Consumer.Group.InstanceId", "") == nil {
		features = append(features, "static_membership")
	}
	if verifiable.SetField(probe, "Consumer.IsolationLevel", "0") == nil {
		features = append(features, "read_committed")
	}
	features = append(features, "assign")
	if canPause {
		features = append(features, "pause")
	}
	return features
}

func (c *consumer) Configure(
	config verifiable.Config, own map[string]string, listener *verifiable.Listener,
) (verifiable.Told, error) {
	c.listener, c.group, c.most = listener, string(config["group.id"]), mostRecords
	c.isAuto = config["enable.auto.commit"] != "false"
	told := c.translate(config)
	c.Handover = verifiable.NewHandover(c.most)
	told = told.Own(own, func(path, value string) error { return verifiable.SetField(c.config, path, value) })
	if err := c.config.Validate(); err != nil {
		return told, verifiable.Refused(err)
	}
	return told, nil
}

func (c *consumer) Subscribe(topics []string, pattern, commit string) error {
	if pattern != "" || commit == "async" || (strings.HasPrefix(commit, "sync") && !canCommit) {
		return verifiable.ErrUnsupported
	}
	if err := c.Unsubscribe(); err != nil {
		return err
	}
	group, err := sarama.NewConsumerGroup(c.addresses, c.group, c.config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	member := &member{consumer: c, group: group, cancel: cancel, ended: make(chan struct{}), owned: map[verifiable.Place]bool{}}
	c.reading = member
	go member.drain()
	go member.consume(ctx, topics)
	return nil
}

func (c *consumer) Unsubscribe() error {
	c.Release()
	if c.reading == nil {
		return nil
	}
	reading := c.reading
	c.reading = nil
	return reading.stop()
}

func (c *consumer) Seek(verifiable.Position) error { return verifiable.ErrUnsupported }

func (c *consumer) Pause(partitions []verifiable.Place) error {
	if c.reading == nil {
		return errNoSession
	}
	return c.reading.pause(partitions)
}

func (c *consumer) Resume(partitions []verifiable.Place) error {
	if c.reading == nil {
		return errNoSession
	}
	return c.reading.resume(partitions)
}

// hand gives records to the application, and returns true once it has worked on them.
func (c *consumer) hand(ctx context.Context, records []*sarama.ConsumerMessage) bool {
	return c.Hand(ctx, nil, func(taken *verifiable.Taken) {
		for _, record := range records {
			place := verifiable.Place{Topic: record.Topic, Partition: record.Partition}
			taken.Add(place, record.Offset, record.Key, record.Value, verifiable.UnknownEpoch)
		}
	})
}

// available returns a message and those that follow it without waiting.
func (c *consumer) available(first *sarama.ConsumerMessage, more <-chan *sarama.ConsumerMessage) []*sarama.ConsumerMessage {
	records := []*sarama.ConsumerMessage{first}
	for len(records) < c.most {
		select {
		case next, open := <-more:
			if !open {
				return records
			}
			records = append(records, next)
		default:
			return records
		}
	}
	return records
}

// Commit: sarama's commit returns nothing. Its errors arrive where all others do, soon after it and without its name, so
// the result is a guess: no error within commitGrace is a success.
func (c *consumer) Commit(offsets []verifiable.Position) error {
	if c.reading == nil {
		return errNoSession
	}
	return c.reading.commit(offsets)
}

// CommitAsync: the client has only commits that wait for the response.
func (c *consumer) CommitAsync([]verifiable.Position, func(error)) error {
	return verifiable.ErrUnsupported
}

func (c *consumer) Close(ctx context.Context) bool {
	done := make(chan error, 1)
	go func() { done <- c.Unsubscribe() }()
	select {
	case err := <-done:
		return err == nil
	case <-ctx.Done():
		return false
	}
}

func (c *consumer) ErrorName(err error) (string, *bool) { return errorName(err), nil }

// Abilities: the errors of Setup and Cleanup end the session, and Consume returns them.
func (c *consumer) Abilities() verifiable.Abilities {
	return verifiable.Abilities{Throw: map[string]bool{"assigned": true, "revoked": true}}
}

func topicsOf(places []verifiable.Place) map[string][]int32 {
	topics := map[string][]int32{}
	for _, place := range places {
		topics[place.Topic] = append(topics[place.Topic], place.Partition)
	}
	return topics
}

// assignment reads partitions without a group.
type assignment struct {
	client sarama.Consumer
	cancel context.CancelFunc
	parts  map[verifiable.Place]sarama.PartitionConsumer
	ended  sync.WaitGroup
}

func (c *consumer) Assign(partitions []verifiable.Position, commit string) error {
	if commit != "none" && commit != "auto" {
		return verifiable.ErrUnsupported
	}
	if err := c.Unsubscribe(); err != nil {
		return err
	}
	client, err := sarama.NewConsumer(c.addresses, c.config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	a := &assignment{client: client, cancel: cancel, parts: map[verifiable.Place]sarama.PartitionConsumer{}}
	c.reading = a
	for _, each := range partitions {
		from := each.Offset
		if from == verifiable.Latest {
			from = c.config.Consumer.Offsets.Initial
		}
		part, err := client.ConsumePartition(each.Topic, each.Partition, from)
		if err != nil {
			return err
		}
		a.parts[each.Place()] = part
		a.ended.Add(1)
		go a.read(ctx, c, part)
	}
	return nil
}

func (a *assignment) read(ctx context.Context, c *consumer, part sarama.PartitionConsumer) {
	defer a.ended.Done()
	for {
		select {
		case <-ctx.Done():
			return
		case err := <-part.Errors():
			if err != nil {
				c.Fail(err.Err)
			}
		case first, open := <-part.Messages():
			if !open || !c.hand(ctx, c.available(first, part.Messages())) {
				return
			}
		}
	}
}

func (a *assignment) commit([]verifiable.Position) error { return verifiable.ErrUnsupported }

func (a *assignment) pause(partitions []verifiable.Place) error {
	return a.each(partitions, func(part singlePauser) { part.Pause() })
}

func (a *assignment) resume(partitions []verifiable.Place) error {
	return a.each(partitions, func(part singlePauser) { part.Resume() })
}

// singlePauser is a partition that can be paused: since 1.31.
type singlePauser interface {
	Pause()
	Resume()
}

func (a *assignment) each(partitions []verifiable.Place, do func(singlePauser)) error {
	for _, place := range partitions {
		part, can := a.parts[place].(singlePauser)
		if !can {
			return verifiable.ErrUnsupported
		}
		do(part)
	}
	return nil
}

func (a *assignment) stop() error {
	a.cancel()
	a.ended.Wait()
	var first error
	for _, part := range a.parts {
		if err := part.Close(); err != nil && first == nil {
			first = err
		}
	}
	if err := a.client.Close(); err != nil && first == nil {
		first = err
	}
	return first
}
