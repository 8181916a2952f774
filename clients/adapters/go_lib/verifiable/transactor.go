package verifiable

import (
	"context"
	"time"
)

const (
	// attempts is how often a call is repeated whose result is unknown. Each takes up to max.block.ms.
	attempts = 5

	// flushLimit is how long the application waits for the results of a transaction's records before it ends the
	// transaction anyway.
	flushLimit = 10 * time.Second

	commit     = "commit"
	notFlushed = "the client is not done"
)

// transactor is the application of a transactional producer: one transaction for each command, as the client's
// documentation has it.
//
// It begins, sends, and commits or aborts. It aborts if a record was refused: that record never became part of the
// transaction, so a commit would leave it out. What it does after an error is what the client lets it do ([WayOut]). It
// never sends a record a second time: the next command begins the next transaction.
type transactor struct {
	adapter Adapter
	client  Transactional
	output  *output
	hurried context.Context
	isReady bool
	id      int
}

// transact performs one transaction, and returns its outcome with the error that kept it from the end asked for.
func (t *transactor) transact(asked command, sent *sent) (outcome, err string) {
	t.id = asked.ID
	isCommit := asked.End == commit
	// Nothing is committed without a commit, so the records of a transaction that lacks one are not visible.
	withoutCommit := map[bool]string{true: "fail", false: "ok"}[isCommit]
	if err := t.begin(); err != nil {
		return withoutCommit, unless(!isCommit, t.client.TransactionError(err))
	}
	refused := t.send(asked, sent)
	if mustHaveAll := isCommit && t.client.CommitsPartly(); refused == "" && (asked.Flush || mustHaveAll) {
		isDone := t.flush(sent)
		if mustHaveAll {
			refused = unless(isDone && sent.refusal() == "", orElse(sent.refusal(), notFlushed))
		}
	}
	if !isCommit || refused != "" {
		t.abort()
		return withoutCommit, refused
	}
	return t.commit()
}

// begin begins, with a new producer if there has to be one.
func (t *transactor) begin() error {
	if initializer, can := t.client.(Initializer); can && !t.isReady {
		if err := t.attempted("init_transactions", initializer.InitTransactions); err != nil {
			t.renew()
			return err
		}
	}
	t.isReady = true
	err := t.attempted("begin_transaction", t.client.BeginTransaction)
	if err == nil {
		return nil
	}
	if t.client.WayOut(err) == Abort {
		t.abort()
	} else {
		t.renew()
	}
	return err
}

// send sends the records, until the client refuses one. It returns the error.
func (t *transactor) send(asked command, sent *sent) string {
	for index := range asked.Values {
		t.adapter.Send(asked.record(index), sent.expect(asked.First+index))
		if refused := sent.refusal(); refused != "" {
			return refused
		}
	}
	return ""
}

func (t *transactor) flush(sent *sent) bool {
	ctx, cancel := context.WithTimeout(t.hurried, flushLimit)
	defer cancel()
	if flusher, can := t.adapter.(Flusher); can && !flusher.Flush(ctx) {
		return false
	}
	return sent.Flush(ctx)
}

func (t *transactor) commit() (outcome, err string) {
	failed := t.attempted("commit_transaction", t.client.CommitTransaction)
	if failed == nil {
		return "ok", ""
	}
	err = t.client.TransactionError(failed)
	switch t.client.WayOut(failed) {
	case Abort: // The client says that it did not commit, and never will.
		if t.abort() {
			return "fail", err
		}
	case AbortUnsure:
		t.abort()
	default:
		t.renew()
	}
	return "info", err
}

func (t *transactor) abort() bool {
	err := t.attempted("abort_transaction", t.client.AbortTransaction)
	if err != nil {
		t.renew()
	}
	return err == nil
}

// renew goes on with another producer, unless the program ends.
func (t *transactor) renew() {
	t.isReady = false
	if t.hurried.Err() == nil {
		t.client.Renew()
		t.pause()
	}
}

// attempted makes a call, and repeats it as long as the client asks for that. It returns the last error.
func (t *transactor) attempted(op string, call func(context.Context) error) error {
	for attempt := 1; ; attempt++ {
		err := t.called(op, call)
		if err == nil || t.client.WayOut(err) != Repeat || attempt == attempts || t.hurried.Err() != nil {
			return err
		}
		t.pause()
	}
}

// pause keeps a client whose calls fail at once from events without end.
func (t *transactor) pause() {
	select {
	case <-time.After(afterError):
	case <-t.hurried.Done():
	}
}

func (t *transactor) called(op string, call func(context.Context) error) error {
	t.output.event("op_invoke", map[string]any{"op": op, "id": t.id})
	row := &columns{Op: op, ID: t.id, Outcome: []string{"ok"}, Error: []*string{nil}}
	row.InvokeNs = []int64{monoNs()}
	err := call(t.hurried)
	row.CompleteNs = []int64{monoNs()}
	if err != nil {
		name := t.client.TransactionError(err)
		row.Error = []*string{&name}
		row.Outcome = []string{"info"}
		if t.client.WayOut(err) == Abort {
			row.Outcome = []string{"fail"}
		}
	}
	t.output.event("op_complete", row)
	return err
}

func unless(is bool, text string) string {
	if is {
		return ""
	}
	return text
}

func orElse(text, otherwise string) string {
	return map[bool]string{true: otherwise, false: text}[text == ""]
}
