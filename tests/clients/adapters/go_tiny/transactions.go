package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"adapter/verifiable"
)

// wayOut is an error whose text says what the client lets the application do.
type wayOut string

func (w wayOut) Error() string { return string(w) }

var waysOut = map[wayOut]verifiable.WayOut{
	"repeat": verifiable.Repeat, "abort": verifiable.Abort, "abort, unsure": verifiable.AbortUnsure,
	"close": verifiable.Close,
}

// failing are the calls of transactions that fail, as the mode says: "commit=repeat commit=close", for example. A call
// that is named several times fails in turn.
type failing []string

func newFailing(mode verifiable.Value) failing { return strings.Fields(string(mode)) }

// called reports a call on stderr, and returns the next error of this call.
func (f *failing) called(call string) error {
	fmt.Fprintln(os.Stderr, "call", call)
	for index, each := range *f {
		if name, way, _ := strings.Cut(each, "="); name == call {
			*f = append(append(failing{}, (*f)[:index]...), (*f)[index+1:]...)
			return wayOut(strings.ReplaceAll(way, "-", ", "))
		}
	}
	return nil
}

func (t *tiny) InitTransactions(context.Context) error { return t.failing.called("init") }

func (t *tiny) BeginTransaction(context.Context) error { return t.failing.called("begin") }

func (t *tiny) CommitTransaction(context.Context) error { return t.failing.called("commit") }

func (t *tiny) AbortTransaction(context.Context) error { return t.failing.called("abort") }

func (t *tiny) CommitsPartly() bool { return strings.Contains(string(t.mode), "partly") }

func (t *tiny) WayOut(err error) verifiable.WayOut { return waysOut[err.(wayOut)] }

func (t *tiny) TransactionError(err error) string { return err.Error() + " it" }

func (t *tiny) Renew() { _ = t.failing.called("renew") }
