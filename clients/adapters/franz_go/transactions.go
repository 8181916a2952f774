package main

import (
	"context"
	"errors"

	"adapter/verifiable"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// isAbortedOnceUnconfirmed is whether the client can abort after an end whose outcome it does not know.
var isAbortedOnceUnconfirmed = false

// ended is an error of EndTransaction. The client treats an error of a commit in another way than one of an abort.
type ended struct {
	error
	try kgo.TransactionEndTry
}

func (e ended) Unwrap() error { return e.error }

// BeginTransaction also requests a producer id, which has no call of its own.
func (f *franzGo) BeginTransaction(context.Context) error { return f.client.BeginTransaction() }

// CommitTransaction is not limited in time: its documentation recommends that its context is not cancelled.
func (f *franzGo) CommitTransaction(ctx context.Context) error { return f.end(ctx, kgo.TryCommit) }

func (f *franzGo) AbortTransaction(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, f.maxBlock)
	defer cancel()
	if err := f.client.AbortBufferedRecords(waiting); err != nil {
		return err
	}
	return f.end(ctx, kgo.TryAbort)
}

func (f *franzGo) end(ctx context.Context, try kgo.TransactionEndTry) error {
	if err := f.client.EndTransaction(ctx, try); err != nil {
		return ended{err, try}
	}
	return nil
}

// CommitsPartly is true: EndTransaction does not look at the results of records.
func (f *franzGo) CommitsPartly() bool { return true }

// WayOut follows the documentation of EndTransaction. It leaves out what may be possible: to begin on the same client
// after some errors.
func (f *franzGo) WayOut(err error) verifiable.WayOut {
	var end ended
	if !errors.As(err, &end) || errors.Is(err, context.Canceled) {
		return verifiable.Close
	}
	isCommit := end.try == kgo.TryCommit
	switch {
	case isCommit && (errors.Is(err, kerr.OperationNotAttempted) || isAbortable(err)):
		return verifiable.Abort
	case isDefinite(err) || !isAbortedOnceUnconfirmed:
		return verifiable.Close
	case isCommit:
		return verifiable.AbortUnsure
	default:
		return verifiable.Repeat
	}
}

// isAbortable returns whether a broker has said that the transaction has to be aborted. Old versions have no name for it.
func isAbortable(err error) bool {
	var fromBroker *kerr.Error
	return errors.As(err, &fromBroker) && fromBroker.Message == "TRANSACTION_ABORTABLE"
}

// isDefinite returns whether a broker has refused for good.
func isDefinite(err error) bool {
	var fromBroker *kerr.Error
	return errors.As(err, &fromBroker) && !fromBroker.Retriable && fromBroker != kerr.UnknownServerError
}

func (f *franzGo) TransactionError(err error) string { return errorName(err) }

func (f *franzGo) Renew() {
	f.client.Close()
	client, err := kgo.NewClient(f.options...)
	if err != nil {
		panic(err) // the same options have made a client before
	}
	f.client = client
}
