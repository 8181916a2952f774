package verifiable

import (
	"context"
	"errors"
)

// Place is a partition of a topic.
type Place struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
}

// Position is an offset in a partition.
type Position struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}

// Place returns the partition.
func (p Position) Place() Place { return Place{p.Topic, p.Partition} }

// The special offsets of a seek, as in ListOffsets. As the offset of an assigned partition, Latest means none.
const (
	Latest   int64 = -1
	Earliest int64 = -2
)

// ErrUnsupported is the error of a call that a client does not have.
var ErrUnsupported = errors.New("the client cannot do this")

// Consuming is an adapter whose client can consume.
type Consuming interface {
	// Consumer returns the client's consumer, always the same one.
	Consumer() ConsumerAdapter
}

// ConsumerAdapter is the consumer of a client. One goroutine, the application's, calls all methods. An error is the
// client's, which the application survives. What a client cannot do returns ErrUnsupported.
type ConsumerAdapter interface {
	// Configure builds the consumer, or checks its settings, as Configure of [Adapter] does. The listener is what
	// each rebalance calls, in any goroutine, with the application's turns before it complete.
	Configure(config Config, own map[string]string, listener *Listener) (Told, error)

	// Subscribe subscribes to topics, or to those that match a pattern if it is not empty.
	Subscribe(topics []string, pattern string, commit string) error

	// Assign assigns partitions without a group. One with an offset other than Latest is read from there.
	Assign(partitions []Position, commit string) error

	// Unsubscribe gives up subscription and assignment.
	Unsubscribe() error

	Seek(position Position) error
	Pause(partitions []Place) error
	Resume(partitions []Place) error

	// Poll adds records to taken, or returns without any when ctx is done. Records are worked on even with an error.
	Poll(ctx context.Context, taken *Taken) error

	// Commit commits, and returns the result.
	Commit(offsets []Position) error

	// CommitAsync commits, and gives done the result later, in any goroutine.
	CommitAsync(offsets []Position, done func(error)) error

	// Close closes the consumer before ctx is done, and returns whether that was possible.
	Close(ctx context.Context) bool

	// ErrorName returns the client's own name for an error, and whether it calls it retriable, nil if it does not say.
	ErrorName(err error) (name string, retriable *bool)

	// Abilities returns what the application can do through this client.
	Abilities() Abilities
}

// Abilities are what the contract asks of an application, and only some clients allow.
type Abilities struct {
	// Wakeup is whether Poll returns an error when its context is cancelled.
	Wakeup bool

	// Throw has the callbacks of a listener whose error the client receives.
	Throw map[string]bool
}
