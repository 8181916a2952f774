package verifiable

import (
	"context"
	"sync"
	"time"
)

// place is where a record was written.
type place struct {
	partition int32
	offset    int64
}

var nowhere = place{-1, -1}

// sent are the results of the records of one transaction, as far as the client has told.
type sent struct {
	mutex  sync.Mutex
	owed   int
	places map[int]place
	first  string // the first error
}

func newSent() *sent { return &sent{places: map[int]place{}} }

func (s *sent) expect(record int) *Result {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.owed++
	return &Result{results: s, record: record, invokeNs: monoNs()}
}

func (s *sent) add(result *Result, outcome string, err *string, partition int32, offset int64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.owed--
	if outcome == "ok" {
		s.places[result.record] = place{partition, offset}
	} else if s.first == "" {
		s.first = *err
	}
}

// refusal returns the first error that a record had, or nothing.
func (s *sent) refusal() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.first
}

func (s *sent) place(record int) place {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if at, known := s.places[record]; known {
		return at
	}
	return nowhere
}

func (s *sent) isOwed() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.owed > 0
}

// Flush waits until every record has its result. It returns false if ctx is done first.
func (s *sent) Flush(ctx context.Context) bool {
	return waited(ctx, func() bool { return !s.isOwed() })
}

// waited waits until something is done. It returns false if ctx is done first.
func waited(ctx context.Context, isDone func() bool) bool {
	for !isDone() {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(owedInterval):
		}
	}
	return true
}
