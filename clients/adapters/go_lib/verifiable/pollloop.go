package verifiable

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	pollTimeout = 100 * time.Millisecond

	// afterError keeps a client whose poll or commit fails at once from events without end.
	afterError = 100 * time.Millisecond
)

// pollLoop is the application of one consumer: it polls, works, commits, and between two turns executes commands, all
// in one goroutine.
type pollLoop struct {
	consumer   ConsumerAdapter
	output     *output
	complete   func(op string, id int, invokeNs int64, err string)
	commits    *commits
	listener   *Listener
	calls      chan call
	hurried    context.Context
	taken      *Taken
	polling    bool
	closed     bool
	processing time.Duration
	mode       string
	mutex      sync.Mutex
	woken      bool
	wake       context.CancelFunc // of the poll in progress
}

// call is what the application does between two turns. A close is done even after a signal.
type call struct {
	do      func()
	isClose bool
}

func newPollLoop(p *program, consumer ConsumerAdapter) *pollLoop {
	l := &pollLoop{consumer: consumer, output: p.output, hurried: p.hurried, calls: make(chan call, queuedCommands)}
	l.taken = &Taken{}
	l.complete = p.answer
	l.commits = newCommits(consumer, p.output)
	l.listener = newListener(p.output, func() { l.work() }, l.commits.forget)
	return l
}

// add executes a command between two turns. A wakeup is executed at once, in the goroutine that calls.
func (l *pollLoop) add(asked consumerCommand) {
	if asked.Cmd == "wakeup" {
		l.answered(asked, l.wakeup)
		return
	}
	l.calls <- call{do: func() { l.answered(asked, func() error { return l.execute(asked) }) }}
}

// close closes the client after the commands before, and returns whether it is done.
func (l *pollLoop) close(ctx context.Context) bool {
	done := make(chan bool, 1)
	l.calls <- call{isClose: true, do: func() {
		l.closed = true
		done <- l.consumer.Close(ctx)
	}}
	return <-done
}

// run polls and executes commands until the client is closed.
func (l *pollLoop) run() {
	for !l.closed {
		if !l.polling {
			l.do(<-l.calls)
			continue
		}
		select {
		case next := <-l.calls:
			l.do(next)
		default:
			l.turn()
		}
	}
}

func (l *pollLoop) do(next call) {
	if next.isClose || l.hurried.Err() == nil {
		next.do()
	}
}

func (l *pollLoop) turn() {
	ctx, cancel := context.WithTimeout(context.Background(), pollTimeout)
	defer cancel()
	l.mutex.Lock()
	l.wake = cancel
	if l.woken {
		cancel()
	}
	l.woken = false
	l.mutex.Unlock()
	l.taken = &Taken{}
	err := l.consumer.Poll(ctx, l.taken)
	l.mutex.Lock()
	l.wake = nil
	l.mutex.Unlock()
	if dropped := l.work(); dropped != nil {
		l.goBack(dropped)
		time.Sleep(afterError)
	}
	if err == nil && errors.Is(ctx.Err(), context.Canceled) {
		err = ctx.Err()
	}
	if err != nil {
		l.report("poll", err)
		time.Sleep(afterError)
	}
}

// work is what the application does with the records that it took. It returns the first positions of those that it did
// not process, because it could not commit them first.
func (l *pollLoop) work() []Position {
	if l.taken.Count() == 0 {
		return nil
	}
	taken := *l.taken
	*l.taken = Taken{} // the poll in progress may add more
	polledNs := monoNs()
	if l.mode == "sync-first" && !l.commit("sync", taken.after()) {
		return taken.first()
	}
	time.Sleep(l.processing)
	l.output.event("records_consumed", map[string]any{
		"count": taken.Count(), "partitions": taken.batches, "polled_ns": polledNs,
	})
	l.commits.done(taken.after())
	if l.mode == "sync" || l.mode == "async" {
		l.commit(l.mode, taken.after())
	}
	return nil
}

// goBack sets positions. If the client cannot, the records are dropped.
func (l *pollLoop) goBack(positions []Position) {
	for _, position := range positions {
		if err := l.consumer.Seek(position); err != nil && !errors.Is(err, ErrUnsupported) {
			l.report("seek", err)
		}
	}
}

// commit returns whether the commit has not failed.
func (l *pollLoop) commit(how string, offsets []Position) bool {
	err := l.commits.commit(how, offsets)
	if err != nil {
		l.report("commit", err)
	}
	return err == nil
}

// wakeup interrupts the poll in progress, or the next one.
func (l *pollLoop) wakeup() error {
	if !l.consumer.Abilities().Wakeup {
		return ErrUnsupported
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.wake == nil {
		l.woken = true
	} else {
		l.wake()
	}
	return nil
}

func (l *pollLoop) answered(asked consumerCommand, do func() error) {
	invokeNs, name := monoNs(), ""
	if err := do(); errors.Is(err, ErrUnsupported) {
		l.output.event("unsupported", map[string]any{"cmd": asked.Cmd, "id": asked.ID})
		return
	} else if err != nil {
		l.report(asked.Cmd, err)
		name, _ = l.consumer.ErrorName(err)
	}
	l.complete(asked.Cmd, asked.ID, invokeNs, name)
}

func (l *pollLoop) execute(asked consumerCommand) error {
	switch asked.Cmd {
	case "subscribe":
		return l.begin(asked, l.consumer.Subscribe(asked.Topics, asked.Pattern, asked.Commit))
	case "assign":
		return l.begin(asked, l.consumer.Assign(asked.Partitions, asked.Commit))
	case "unsubscribe":
		l.polling = false
		l.commits.forgetAll()
		return l.consumer.Unsubscribe()
	case "seek":
		l.commits.forget([]Place{asked.Position.Place()})
		return l.consumer.Seek(*asked.Position)
	case "pause":
		return l.consumer.Pause(asked.places())
	case "resume":
		return l.consumer.Resume(asked.places())
	case "commit":
		return l.commits.commit(asked.How, l.commits.all())
	case "process":
		l.processing = asked.processing()
	case "throw":
		if !l.consumer.Abilities().Throw[asked.Callback] {
			return ErrUnsupported
		}
		l.listener.failIn(asked.Callback, asked.Times)
	}
	return nil
}

func (l *pollLoop) begin(asked consumerCommand, err error) error {
	if err == nil {
		l.mode, l.processing, l.polling = asked.Commit, asked.processing(), true
	}
	return err
}

func (l *pollLoop) report(call string, err error) {
	name, retriable := l.consumer.ErrorName(err)
	l.output.event("consumer_error", map[string]any{
		"call": call, "error": name, "message": err.Error(), "retriable": retriable,
	})
}
