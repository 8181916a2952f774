//go:build since_1_37

package main

import (
	"context"

	"adapter/verifiable"

	"github.com/IBM/sarama"
)

func init() {
	producerFeatures = append(producerFeatures, "transactions")
	later["transaction.timeout.ms"] = func(own *sarama.Config) verifiable.Setter {
		return verifiable.Duration("Producer.Transaction.Timeout", verifiable.Into(&own.Producer.Transaction.Timeout))
	}
	later["transactional.id"] = func(own *sarama.Config) verifiable.Setter {
		return verifiable.Text("Producer.Transaction.ID", verifiable.Into(&own.Producer.Transaction.ID))
	}
	isTransactional = func(own *sarama.Config) bool { return own.Producer.Transaction.ID != "" }
}

// InitTransactions builds the producer: sarama has no call of its own, its constructor requests the producer id. The
// producer has a client of its own, without which Renew could not end it.
func (a *adapter) InitTransactions(context.Context) error {
	client, err := sarama.NewClient(a.addresses, a.settings)
	if err != nil {
		return err
	}
	if a.producer, err = sarama.NewAsyncProducerFromClient(client); err != nil {
		_ = client.Close()
		return err
	}
	a.client = client
	a.serve()
	return nil
}

func (a *adapter) BeginTransaction(context.Context) error { return a.producer.BeginTxn() }

func (a *adapter) CommitTransaction(context.Context) error { return a.producer.CommitTxn() }

func (a *adapter) AbortTransaction(context.Context) error { return a.producer.AbortTxn() }

// CommitsPartly is false: a record that fails makes the transaction abortable.
func (a *adapter) CommitsPartly() bool { return false }

// WayOut follows sarama's example: recreate a producer in a fatal state, abort in an abortable one, and otherwise
// repeat the call.
func (a *adapter) WayOut(error) verifiable.WayOut {
	switch {
	case a.producer == nil || a.producer.TxnStatus()&sarama.ProducerTxnFlagFatalError != 0:
		return verifiable.Close
	case a.producer.TxnStatus()&sarama.ProducerTxnFlagAbortableError != 0:
		return verifiable.Abort
	default:
		return verifiable.Repeat
	}
}

func (a *adapter) TransactionError(err error) string { return errorName(err) }

// Renew closes the producer's client first, which ends its retries. InitTransactions builds the next producer.
func (a *adapter) Renew() {
	if a.producer != nil {
		_ = a.client.Close()
		a.producer.AsyncClose()
		a.producer = nil
	}
}
