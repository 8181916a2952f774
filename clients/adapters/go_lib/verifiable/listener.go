package verifiable

import (
	"fmt"
	"sync"
)

// Listener is the application's listener of rebalances. A method reports the call, and returns an error if the
// application was told to fail.
type Listener struct {
	output  *output
	work    func()
	givenUp func([]Place)
	mutex   sync.Mutex
	failing map[string]int
}

func newListener(output *output, work func(), givenUp func([]Place)) *Listener {
	return &Listener{output: output, work: work, givenUp: givenUp, failing: map[string]int{}}
}

// WorkFirst works on what the poll in progress has taken so far. A client calls it, in the goroutine of the poll,
// before a callback that runs in the middle of a poll.
func (l *Listener) WorkFirst() { l.work() }

// Assigned reports the partitions that are new. Generation -1 and an empty member id are unknown.
func (l *Listener) Assigned(partitions []Place, generation int32, memberID string) error {
	l.output.event("partitions_assigned", map[string]any{
		"partitions": places(partitions), "generation": generation, "member_id": memberID,
	})
	return l.fails("assigned")
}

// Revoked reports the partitions that the member gives up.
func (l *Listener) Revoked(partitions []Place) error {
	l.output.event("partitions_revoked", map[string]any{"partitions": places(partitions)})
	l.givenUp(partitions)
	return l.fails("revoked")
}

// Lost reports the partitions that the member has already lost.
func (l *Listener) Lost(partitions []Place) error {
	l.output.event("partitions_lost", map[string]any{"partitions": places(partitions)})
	l.givenUp(partitions)
	return l.fails("lost")
}

// Committed reports an automatic commit of the client.
func (l *Listener) Committed(offsets []Position, name string) {
	now := monoNs()
	l.output.event("offsets_committed", committed(offsets, "auto", now, now, name))
}

// failIn makes the next calls of a callback fail.
func (l *Listener) failIn(callback string, times int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.failing[callback] = times
}

func (l *Listener) fails(callback string) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.failing[callback] == 0 {
		return nil
	}
	l.failing[callback]--
	return fmt.Errorf("the application's listener fails in %s", callback)
}

// places returns a list that is never nil, which JSON would write as null.
func places(partitions []Place) []Place { return append([]Place{}, partitions...) }

// committed returns the fields of offsets_committed. Without an error's name, the commit succeeded.
func committed(offsets []Position, how string, invokeNs, completeNs int64, name string) map[string]any {
	fields := map[string]any{
		"offsets": append([]Position{}, offsets...), "success": name == "", "how": how,
		"invoke_ns": invokeNs, "complete_ns": completeNs,
	}
	if name != "" {
		fields["error"] = name
	}
	return fields
}
