package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"adapter/verifiable"

	"github.com/IBM/sarama"
)

// What later versions added to sarama's interfaces.
type (
	pauser interface { // since 1.31
		Pause(partitions map[string][]int32)
		Resume(partitions map[string][]int32)
	}
	committer interface { // since 1.27
		Commit()
	}
)

// canPause and canCommit are whether this version has them.
var (
	_, canPause  = reflected[sarama.ConsumerGroup]().MethodByName("Pause")
	_, canCommit = reflected[sarama.ConsumerGroupSession]().MethodByName("Commit")
)

// member is a member of a group: the handler of its sessions. A session with a cooperative strategy lasts over
// rebalances, and its claims come and go, which only ConsumeClaim sees.
type member struct {
	consumer *consumer
	group    sarama.ConsumerGroup
	cancel   context.CancelFunc
	ended    chan struct{}
	session  atomic.Value // of holder
	failures atomic.Int64
	mutex    sync.Mutex
	owned    map[verifiable.Place]bool
	newest   error
}

// holder has the session in progress, if there is one.
type holder struct{ session sarama.ConsumerGroupSession }

// consume takes part in one session after the other.
func (m *member) consume(ctx context.Context, topics []string) {
	defer close(m.ended)
	for ctx.Err() == nil {
		err := m.group.Consume(ctx, topics, m)
		if err != nil && ctx.Err() == nil {
			m.consumer.Fail(err)
			time.Sleep(m.consumer.config.Consumer.Retry.Backoff) // Consume may return at once
		}
	}
}

// drain passes on the errors of the group, which would block without a reader.
func (m *member) drain() {
	for err := range m.group.Errors() {
		var of *sarama.ConsumerError
		if errors.As(err, &of) {
			err = of.Err
		}
		if !isOfFetch(err) {
			m.mutex.Lock()
			m.newest = err
			m.mutex.Unlock()
			m.failures.Add(1)
		}
		m.consumer.Fail(err)
	}
}

// isOfFetch is whether an error is none of a commit: sarama has one channel for both, and only an answer to Fetch has
// records that cannot be decoded.
func isOfFetch(err error) bool {
	var decoding sarama.PacketDecodingError
	return errors.As(err, &decoding)
}

func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	var partitions []verifiable.Place
	for topic, claims := range session.Claims() {
		for _, partition := range claims {
			partitions = append(partitions, verifiable.Place{Topic: topic, Partition: partition})
		}
	}
	m.own(partitions)
	m.session.Store(holder{session})
	return m.consumer.listener.Assigned(partitions, session.GenerationID(), session.MemberID())
}

func (m *member) own(partitions []verifiable.Place) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, place := range partitions {
		m.owned[place] = true
	}
}

// disown returns whether the member has not given up the partition before.
func (m *member) disown(place verifiable.Place) bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	was := m.owned[place]
	delete(m.owned, place)
	return was
}

func (m *member) Cleanup(sarama.ConsumerGroupSession) error {
	m.session.Store(holder{})
	m.mutex.Lock()
	var left []verifiable.Place
	for place := range m.owned {
		left = append(left, place)
	}
	clear(m.owned)
	m.mutex.Unlock()
	return m.consumer.listener.Revoked(left)
}

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	place := verifiable.Place{Topic: claim.Topic(), Partition: claim.Partition()}
	m.mutex.Lock()
	isNew := !m.owned[place]
	m.owned[place] = true
	m.mutex.Unlock()
	if isNew {
		_ = m.consumer.listener.Assigned([]verifiable.Place{place}, session.GenerationID(), session.MemberID())
	}
	for first := range claim.Messages() {
		records := m.consumer.available(first, claim.Messages())
		if !m.consumer.hand(session.Context(), records) {
			break
		}
		if m.consumer.isAuto {
			session.MarkMessage(records[len(records)-1], "")
		}
	}
	if session.Context().Err() == nil && m.disown(place) {
		_ = m.consumer.listener.Revoked([]verifiable.Place{place})
	}
	return nil
}

func (m *member) commit(offsets []verifiable.Position) error {
	held, _ := m.session.Load().(holder)
	session, can := held.session.(committer)
	switch {
	case held.session == nil:
		return errNoSession
	case !can:
		return verifiable.ErrUnsupported
	}
	for _, each := range offsets {
		held.session.MarkOffset(each.Topic, each.Partition, each.Offset, "")
	}
	before := m.failures.Load()
	session.Commit()
	time.Sleep(commitGrace)
	if m.failures.Load() == before {
		return nil
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.newest
}

func (m *member) pause(partitions []verifiable.Place) error {
	group, can := m.group.(pauser)
	if !can {
		return verifiable.ErrUnsupported
	}
	group.Pause(topicsOf(partitions))
	return nil
}

func (m *member) resume(partitions []verifiable.Place) error {
	group, can := m.group.(pauser)
	if !can {
		return verifiable.ErrUnsupported
	}
	group.Resume(topicsOf(partitions))
	return nil
}

// stop ends the session, and leaves the group.
func (m *member) stop() error {
	m.cancel()
	<-m.ended
	return m.group.Close()
}
