package main

import (
	"context"
	"errors"
	"net"
	"sync"

	"adapter/verifiable"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// mostRecords is how many records one poll returns at most, unless max.poll.records says so: Java's default.
const mostRecords = 500

var errNoSubscription = errors.New("there is no subscription")

// consumer wraps a kgo.Client that consumes. A client gets its topics when it is made, so each subscription makes one.
type consumer struct {
	options  []kgo.Opt
	group    string
	isAuto   bool
	reset    kgo.Offset
	listener *verifiable.Listener
	client   *kgo.Client
	most     int
	turns    turns
}

// turns keeps callbacks between two turns. Before 1.4 the client does not do it.
type turns interface {
	// options are those of the client that block its rebalances while the application has polled.
	options() []kgo.Opt
	// allow lets a rebalance that waits begin.
	allow(client *kgo.Client)
	// callback runs a callback of a rebalance.
	callback(do func())
	// close closes the client, with its last callbacks.
	close(client *kgo.Client)
}

// lockedTurns blocks the callbacks by a mutex that the application holds except between turns.
type lockedTurns struct{ mutex sync.Mutex }

func (l *lockedTurns) options() []kgo.Opt { l.mutex.Lock(); return nil }

func (l *lockedTurns) allow(*kgo.Client) { l.mutex.Unlock(); l.mutex.Lock() }

func (l *lockedTurns) callback(do func()) { l.mutex.Lock(); defer l.mutex.Unlock(); do() }

func (l *lockedTurns) close(client *kgo.Client) { l.mutex.Unlock(); client.Close() }

// What the files since_*.go replace.
var (
	newTurns   = func() turns { return &lockedTurns{} }
	membership = func(*kgo.Client) (memberID string, generation int32) { return "", -1 }
)

func (c *consumer) Configure(
	config verifiable.Config, own map[string]string, listener *verifiable.Listener,
) (verifiable.Told, error) {
	c.listener, c.most, c.group = listener, mostRecords, string(config["group.id"])
	c.isAuto = config["enable.auto.commit"] != "false"
	options, told := c.translate(config)
	c.options = options
	told = told.Own(own, func(name, value string) error {
		option, err := ownOption(name, value)
		if err == nil {
			c.options = append(c.options, option)
		}
		return err
	})
	if err := refusal(c.all(c.grouped())); err != nil {
		return told, verifiable.Refused(err)
	}
	return told, nil
}

// refusal returns why the client rejects these options. Old versions need topics to check those of a group, and begin
// to connect then, so this client cannot.
func refusal(options []kgo.Opt) error {
	nowhere := func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed }
	probe, err := kgo.NewClient(append(options, kgo.ConsumeTopics("none"), kgo.Dialer(nowhere))...)
	if err == nil {
		go probe.Close()
	}
	return err
}

func (c *consumer) all(more []kgo.Opt) []kgo.Opt {
	return append(append([]kgo.Opt{}, c.options...), more...)
}

func (c *consumer) grouped() []kgo.Opt {
	if c.group == "" {
		return nil
	}
	return []kgo.Opt{
		kgo.ConsumerGroup(c.group),
		kgo.OnPartitionsAssigned(func(_ context.Context, client *kgo.Client, assigned map[string][]int32) {
			// It need not wait for the end of a turn: old versions may fetch records of the partitions meanwhile.
			memberID, generation := membership(client)
			_ = c.listener.Assigned(placesOf(assigned), generation, memberID)
		}),
		kgo.OnPartitionsRevoked(func(ctx context.Context, client *kgo.Client, revoked map[string][]int32) {
			c.turns.callback(func() {
				c.commitUncommitted(ctx, client)
				_ = c.listener.Revoked(placesOf(revoked))
			})
		}),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, lost map[string][]int32) {
			c.turns.callback(func() { _ = c.listener.Lost(placesOf(lost)) })
		}),
	}
}

// begin replaces the client by one that consumes what these options say.
func (c *consumer) begin(options ...kgo.Opt) error {
	c.end()
	c.turns = newTurns()
	client, err := kgo.NewClient(c.all(append(options, c.turns.options()...))...)
	if err == nil {
		c.client = client
	}
	return err
}

func (c *consumer) end() {
	if c.client != nil {
		c.turns.close(c.client)
		c.client = nil
	}
}

func (c *consumer) Subscribe(topics []string, pattern, _ string) error {
	if pattern != "" {
		return c.begin(append(c.grouped(), kgo.ConsumeRegex(), kgo.ConsumeTopics(pattern))...)
	}
	return c.begin(append(c.grouped(), kgo.ConsumeTopics(topics...))...)
}

func (c *consumer) Assign(partitions []verifiable.Position, _ string) error {
	if c.group != "" {
		return verifiable.ErrUnsupported // kgo has no offsets of a group for partitions that it is given
	}
	from := map[string]map[int32]kgo.Offset{}
	for _, each := range partitions {
		if from[each.Topic] == nil {
			from[each.Topic] = map[int32]kgo.Offset{}
		}
		from[each.Topic][each.Partition] = c.offset(each.Offset)
	}
	return c.begin(kgo.ConsumePartitions(from))
}

func (c *consumer) Unsubscribe() error { c.end(); return nil }

func (c *consumer) Seek(position verifiable.Position) error {
	if c.client == nil {
		return errNoSubscription
	}
	offset, err := c.resolved(position)
	if err == nil {
		c.client.SetOffsets(epochOffsets([]verifiable.Position{
			{Topic: position.Topic, Partition: position.Partition, Offset: offset},
		}))
	}
	return err
}

// resolved returns the offset of a position. SetOffsets takes no special offsets, so the broker is asked for them.
func (c *consumer) resolved(position verifiable.Position) (int64, error) {
	if position.Offset >= 0 {
		return position.Offset, nil
	}
	part := kmsg.NewListOffsetsRequestTopicPartition()
	part.Partition, part.Timestamp = position.Partition, position.Offset
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic, topic.Partitions = position.Topic, append(topic.Partitions, part)
	request := kmsg.NewPtrListOffsetsRequest()
	request.ReplicaID, request.Topics = -1, append(request.Topics, topic)
	response, err := request.RequestWith(context.Background(), c.client)
	if err != nil {
		return 0, err
	}
	for _, topic := range response.Topics {
		for _, part := range topic.Partitions {
			return part.Offset, kerr.ErrorForCode(part.ErrorCode)
		}
	}
	return 0, errors.New("the broker named no offset")
}

func (c *consumer) Pause(partitions []verifiable.Place) error {
	if c.client == nil {
		return errNoSubscription
	}
	c.client.PauseFetchPartitions(topicsOf(partitions))
	return nil
}

func (c *consumer) Resume(partitions []verifiable.Place) error {
	if c.client == nil {
		return errNoSubscription
	}
	c.client.ResumeFetchPartitions(topicsOf(partitions))
	return nil
}

func (c *consumer) Poll(ctx context.Context, taken *verifiable.Taken) error {
	c.turns.allow(c.client)
	fetches := c.client.PollRecords(ctx, c.most)
	fetches.EachRecord(func(record *kgo.Record) {
		place := verifiable.Place{Topic: record.Topic, Partition: record.Partition}
		taken.Add(place, record.Offset, record.Key, record.Value, record.LeaderEpoch)
	})
	var first error
	fetches.EachError(func(_ string, _ int32, err error) {
		if first == nil && ctx.Err() == nil {
			first = err
		}
	})
	return first
}

func (c *consumer) Commit(offsets []verifiable.Position) error {
	if c.client == nil {
		return errNoSubscription
	}
	var result error
	c.client.CommitOffsetsSync(context.Background(), epochOffsets(offsets), func(
		_ *kgo.Client, _ *kmsg.OffsetCommitRequest, response *kmsg.OffsetCommitResponse, err error,
	) {
		result = commitError(response, err)
	})
	return result
}

func (c *consumer) CommitAsync(offsets []verifiable.Position, done func(error)) error {
	if c.client == nil {
		return errNoSubscription
	}
	c.client.CommitOffsets(context.Background(), epochOffsets(offsets), func(
		_ *kgo.Client, _ *kmsg.OffsetCommitRequest, response *kmsg.OffsetCommitResponse, err error,
	) {
		done(commitError(response, err))
	})
	return nil
}

// Close leaves the group, as far as its requests end in time.
func (c *consumer) Close(ctx context.Context) bool {
	done := make(chan struct{})
	go func() { c.end(); close(done) }()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

func (c *consumer) ErrorName(err error) (string, *bool) {
	var fromBroker *kerr.Error
	if errors.As(err, &fromBroker) {
		retriable := fromBroker.Retriable
		return fromBroker.Message, &retriable
	}
	return errorName(err), nil
}

// Abilities: a callback of kgo returns nothing, and a panic in it would end the process.
func (c *consumer) Abilities() verifiable.Abilities { return verifiable.Abilities{Wakeup: true} }

// autoCommitted reports a commit that the client makes by itself.
func (c *consumer) autoCommitted(
	_ *kgo.Client, request *kmsg.OffsetCommitRequest, response *kmsg.OffsetCommitResponse, err error,
) {
	var offsets []verifiable.Position
	if request != nil {
		for _, topic := range request.Topics {
			for _, part := range topic.Partitions {
				offsets = append(offsets, verifiable.Position{Topic: topic.Topic, Partition: part.Partition, Offset: part.Offset})
			}
		}
	}
	name := ""
	if failed := commitError(response, err); failed != nil {
		name, _ = c.ErrorName(failed)
	}
	if len(offsets) > 0 {
		c.listener.Committed(offsets, name)
	}
}

// commitUncommitted is the client's own callback of a revocation with automatic commits, which ours replaces.
func (c *consumer) commitUncommitted(ctx context.Context, client *kgo.Client) {
	uncommitted := client.UncommittedOffsets()
	if !c.isAuto || len(uncommitted) == 0 {
		return
	}
	var offsets []verifiable.Position
	for topic, partitions := range uncommitted {
		for partition, at := range partitions {
			offsets = append(offsets, verifiable.Position{Topic: topic, Partition: partition, Offset: at.Offset})
		}
	}
	name := ""
	if err := client.CommitUncommittedOffsets(ctx); err != nil {
		name, _ = c.ErrorName(err)
	}
	c.listener.Committed(offsets, name)
}

// commitError returns the error of a commit: of the request, or of the first partition that has one.
func commitError(response *kmsg.OffsetCommitResponse, err error) error {
	if err != nil || response == nil {
		return err
	}
	for _, topic := range response.Topics {
		for _, part := range topic.Partitions {
			if failed := kerr.ErrorForCode(part.ErrorCode); failed != nil {
				return failed
			}
		}
	}
	return nil
}

func epochOffsets(offsets []verifiable.Position) map[string]map[int32]kgo.EpochOffset {
	all := map[string]map[int32]kgo.EpochOffset{}
	for _, each := range offsets {
		if all[each.Topic] == nil {
			all[each.Topic] = map[int32]kgo.EpochOffset{}
		}
		all[each.Topic][each.Partition] = kgo.EpochOffset{Epoch: -1, Offset: each.Offset}
	}
	return all
}

func placesOf(topics map[string][]int32) []verifiable.Place {
	var places []verifiable.Place
	for topic, partitions := range topics {
		for _, partition := range partitions {
			places = append(places, verifiable.Place{Topic: topic, Partition: partition})
		}
	}
	return places
}

func topicsOf(places []verifiable.Place) map[string][]int32 {
	topics := map[string][]int32{}
	for _, place := range places {
		topics[place.Topic] = append(topics[place.Topic], place.Partition)
	}
	return topics
}
