package main

import (
	"context"
	"errors"

	"adapter/verifiable"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

func (a *adapter) InitTransactions(ctx context.Context) error {
	return a.within(ctx, a.producer.InitTransactions)
}

func (a *adapter) BeginTransaction(context.Context) error { return a.producer.BeginTransaction() }

func (a *adapter) CommitTransaction(ctx context.Context) error {
	return a.within(ctx, a.producer.CommitTransaction)
}

func (a *adapter) AbortTransaction(ctx context.Context) error {
	return a.within(ctx, a.producer.AbortTransaction)
}

func (a *adapter) within(ctx context.Context, call func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, a.maxBlock)
	defer cancel()
	return call(limited)
}

// CommitsPartly is false: librdkafka flushes before it commits, and refuses to commit if a record has failed.
func (a *adapter) CommitsPartly() bool { return false }

func (a *adapter) WayOut(err error) verifiable.WayOut {
	var told kafka.Error
	switch {
	case !errors.As(err, &told) || told.IsFatal():
		return verifiable.Close
	case told.TxnRequiresAbort():
		return verifiable.Abort
	case told.IsRetriable():
		return verifiable.Repeat
	default:
		return verifiable.Close
	}
}

func (a *adapter) TransactionError(err error) string { return code(err).String() }

// Renew drops the records of the old producer, so that its close does not wait for them.
func (a *adapter) Renew() {
	_ = a.producer.Purge(kafka.PurgeQueue | kafka.PurgeInFlight)
	a.producer.Close()
	if err := a.create(a.properties); err != nil {
		panic(err) // the same properties have made a producer before
	}
}
