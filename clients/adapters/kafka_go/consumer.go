package main

import (
	"context"
	"errors"
	"log"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"adapter/verifiable"

	"github.com/segmentio/kafka-go"
)

const (
	mostRecords = 500 // Java's default of max.poll.records
	fetchSlice  = 100 * time.Millisecond
)

var (
	errNoGeneration = errors.New("there is no generation")
	errNotAssigned  = errors.New("the partition is not assigned")
)

// consumer wraps a kafka.ConsumerGroup, whose generations have the partitions, and a kafka.Reader for each of them. A
// Reader with a group would hide its assignment.
type consumer struct {
	group    kafka.ConsumerGroupConfig
	reader   kafka.ReaderConfig
	dialer   *kafka.Dialer
	listener *verifiable.Listener
	most     int
	*verifiable.Handover

	stop       context.CancelFunc // of the subscription or assignment
	ended      sync.WaitGroup
	generation atomic.Pointer[kafka.Generation]
	mutex      sync.Mutex
	parts      map[verifiable.Place]*part
}

func (c *consumer) Configure(
	config verifiable.Config, own map[string]string, listener *verifiable.Listener,
) (verifiable.Told, error) {
	errorLog := log.New(os.Stderr, "kafka-go: ", log.Lmicroseconds)
	c.listener, c.most, c.parts = listener, mostRecords, map[verifiable.Place]*part{}
	c.dialer = &kafka.Dialer{DualStack: true}
	c.group, c.reader = kafka.ConsumerGroupConfig{ErrorLogger: errorLog}, kafka.ReaderConfig{ErrorLogger: errorLog}
	told := c.translate(config)
	c.group.Dialer, c.reader.Dialer = c.dialer, c.dialer
	c.Handover = verifiable.NewHandover(c.most)
	parts := &struct {
		ConsumerGroupConfig *kafka.ConsumerGroupConfig
		ReaderConfig        *kafka.ReaderConfig
		Dialer              *kafka.Dialer
	}{&c.group, &c.reader, c.dialer}
	told = told.Own(own, func(path, value string) error { return verifiable.SetField(parts, path, value) })
	probe := c.group
	probe.Topics = []string{"none"}
	if err := probe.Validate(); err != nil && c.group.ID != "" {
		return told, verifiable.Refused(err)
	}
	return told, nil
}

func (c *consumer) Subscribe(topics []string, pattern, commit string) error {
	if pattern != "" || commit == "async" || commit == "auto" {
		return verifiable.ErrUnsupported
	}
	if err := c.Unsubscribe(); err != nil {
		return err
	}
	config := c.group
	config.Topics = topics
	group, err := kafka.NewConsumerGroup(config)
	if err != nil {
		return err
	}
	ctx := c.begin()
	c.ended.Add(2)
	go func() {
		defer c.ended.Done()
		c.takePart(ctx, group)
	}()
	go func() {
		defer c.ended.Done()
		<-ctx.Done()
		_ = group.Close() // leaves the group
	}()
	return nil
}

func (c *consumer) begin() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	c.stop = cancel
	return ctx
}

// takePart takes part in one generation after the other.
func (c *consumer) takePart(ctx context.Context, group *kafka.ConsumerGroup) {
	for ctx.Err() == nil {
		generation, err := group.Next(ctx)
		if err != nil {
			if ctx.Err() == nil {
				c.Fail(err)
			}
			continue
		}
		c.join(generation)
	}
}

// join begins to read a generation's partitions. The group waits until all functions of a generation have returned.
func (c *consumer) join(generation *kafka.Generation) {
	var places []verifiable.Place
	var readers sync.WaitGroup
	starts := map[verifiable.Place]int64{}
	for topic, assignments := range generation.Assignments {
		for _, each := range assignments {
			place := verifiable.Place{Topic: topic, Partition: int32(each.ID)}
			places = append(places, place)
			starts[place] = each.Offset
		}
	}
	c.generation.Store(generation)
	_ = c.listener.Assigned(places, generation.ID, generation.MemberID)
	for place, offset := range starts {
		readers.Add(1)
		generation.Start(func(ctx context.Context) {
			defer readers.Done()
			c.read(ctx, place, offset)
		})
	}
	generation.Start(func(ctx context.Context) {
		<-ctx.Done()
		readers.Wait()
		c.generation.Store(nil)
		_ = c.listener.Revoked(places)
	})
}

// part is a partition that is read, and an offset to read it from.
type part struct {
	offset atomic.Pointer[int64]
	ping   chan struct{}
	done   chan error
}

// read reads one partition until ctx is done.
func (c *consumer) read(ctx context.Context, place verifiable.Place, from int64) {
	config := c.reader
	config.Topic, config.Partition = place.Topic, int(place.Partition)
	reader := kafka.NewReader(config)
	defer func() { _ = reader.Close() }()
	if err := reader.SetOffset(from); err != nil {
		c.Fail(err)
	}
	p := &part{ping: make(chan struct{}, 1), done: make(chan error, 1)}
	c.keep(place, p)
	defer func() { c.keep(place, nil); close(p.done) }()
	for ctx.Err() == nil {
		if offset := p.offset.Swap(nil); offset != nil {
			p.done <- reader.SetOffset(*offset)
		}
		records, err := c.fetch(ctx, reader)
		if err != nil {
			c.Fail(err)
		}
		if len(records) > 0 {
			c.Hand(ctx, p.ping, func(taken *verifiable.Taken) {
				for _, record := range records {
					taken.Add(place, record.Offset, record.Key, record.Value, verifiable.UnknownEpoch)
				}
			})
		}
	}
}

func (c *consumer) keep(place verifiable.Place, p *part) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if p == nil {
		delete(c.parts, place)
	} else {
		c.parts[place] = p
	}
}

// fetch returns the next record, and those that the reader has queued after it.
func (c *consumer) fetch(ctx context.Context, reader *kafka.Reader) (records []kafka.Message, err error) {
	waiting, cancel := context.WithTimeout(ctx, fetchSlice)
	defer cancel()
	for len(records) == 0 || (len(records) < c.most && reader.Stats().QueueLength > 0) {
		record, err := reader.FetchMessage(waiting)
		if err != nil {
			if waiting.Err() != nil {
				err = nil
			}
			return records, err
		}
		records = append(records, record)
	}
	return records, nil
}

// Assign reads partitions without a group, so there is nothing to commit to.
func (c *consumer) Assign(partitions []verifiable.Position, commit string) error {
	if commit != "none" {
		return verifiable.ErrUnsupported
	}
	if err := c.Unsubscribe(); err != nil {
		return err
	}
	ctx := c.begin()
	for _, each := range partitions {
		from := each.Offset
		if from == verifiable.Latest {
			from = c.group.StartOffset
		}
		c.ended.Add(1)
		go func() {
			defer c.ended.Done()
			c.read(ctx, each.Place(), from)
		}()
	}
	return nil
}

func (c *consumer) Unsubscribe() error {
	c.Release()
	if c.stop != nil {
		c.stop()
		c.ended.Wait()
		c.stop = nil
	}
	return nil
}

// Seek returns once the partition's goroutine has given up what it read before.
func (c *consumer) Seek(position verifiable.Position) error {
	c.Release()
	c.mutex.Lock()
	p := c.parts[position.Place()]
	c.mutex.Unlock()
	if p == nil {
		return errNotAssigned
	}
	p.offset.Store(&position.Offset)
	p.ping <- struct{}{}
	err, reading := <-p.done
	if !reading {
		return errNotAssigned
	}
	select {
	case <-p.ping: // it was not waiting to hand records over
	default:
	}
	return err
}

func (c *consumer) Pause([]verifiable.Place) error  { return verifiable.ErrUnsupported }
func (c *consumer) Resume([]verifiable.Place) error { return verifiable.ErrUnsupported }

func (c *consumer) Commit(offsets []verifiable.Position) error {
	generation := c.generation.Load()
	if generation == nil {
		return errNoGeneration
	}
	topics := map[string]map[int]int64{}
	for _, each := range offsets {
		if topics[each.Topic] == nil {
			topics[each.Topic] = map[int]int64{}
		}
		topics[each.Topic][int(each.Partition)] = each.Offset
	}
	return generation.CommitOffsets(topics)
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

func (c *consumer) ErrorName(err error) (string, *bool) {
	var fromBroker kafka.Error
	if errors.As(err, &fromBroker) {
		retriable := fromBroker.Temporary()
		return fromBroker.Title(), &retriable
	}
	return verifiable.Cause(err), nil
}

// Abilities: a generation begins and ends without a listener.
func (c *consumer) Abilities() verifiable.Abilities { return verifiable.Abilities{} }
