// The program for franz-go.
//
// Every error that a promise receives is info: franz-go reports the same errors for records that it rejects and for
// records that a broker rejected after an attempt whose response was lost.
package main

import (
	"context"
	"errors"
	"time"

	"adapter/verifiable"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	unknownOffset = -1

	javasMaxBlock = time.Minute // the default of max.block.ms

	// closeReserve is the part of a close's time that is reserved for failing what could not be flushed.
	closeReserve = 200 * time.Millisecond
)

func main() { verifiable.Run(&franzGo{}) }

// franzGo wraps a kgo.Client that produces, or the consumer.
type franzGo struct {
	client      *kgo.Client
	options     []kgo.Opt
	maxBlock    time.Duration
	withoutAcks bool
	own         map[string]string
	consumer    consumer
}

func (f *franzGo) Consumer() verifiable.ConsumerAdapter { return &f.consumer }

func (f *franzGo) TakeOwn(own map[string]string) { f.own = own }

func (f *franzGo) About() verifiable.About {
	return verifiable.About{
		Client:        "franz-go",
		ClientVersion: verifiable.ModuleVersion("github.com/twmb/franz-go"),
		Language:      "go",
		Features:      append([]string{"producer", "idempotence", "transactions", "client_config"}, consumerFeatures()...),
	}
}

func (f *franzGo) Configure(config verifiable.Config) (verifiable.Told, error) {
	f.maxBlock = javasMaxBlock
	if asked, err := config["max.block.ms"].Duration(); err == nil {
		f.maxBlock = asked
	}
	options, told := translate(config)
	told = told.Own(f.own, func(name, value string) error {
		option, err := ownOption(name, value)
		if err == nil {
			options = append(options, option)
		}
		return err
	})
	f.withoutAcks = config["acks"] == "0"
	client, err := kgo.NewClient(options...)
	if err != nil {
		return told, verifiable.Refused(err)
	}
	f.client, f.options = client, options
	return told, nil
}

func (f *franzGo) Send(record verifiable.Record, result *verifiable.Result) {
	handed := &kgo.Record{Topic: record.Topic, Key: record.Key, Value: record.Value, Partition: anyPartition}
	if record.Partition != nil {
		handed.Partition = *record.Partition
	}
	f.client.Produce(context.Background(), handed, func(written *kgo.Record, err error) {
		switch {
		case err != nil:
			result.Info(errorName(err))
		case f.withoutAcks:
			result.OK(written.Partition, unknownOffset)
		default:
			result.OK(written.Partition, written.Offset)
		}
	})
}

func (f *franzGo) Flush(ctx context.Context) bool { return f.client.Flush(ctx) == nil }

func (f *franzGo) Close(ctx context.Context) bool {
	deadline, _ := ctx.Deadline()
	flushing, cancel := context.WithDeadline(ctx, deadline.Add(-closeReserve))
	defer cancel()
	flushed := f.Flush(flushing)
	f.client.Close() // what is still buffered fails with kgo.ErrClientClosed
	return flushed
}

func errorName(err error) string {
	var fromBroker *kerr.Error
	if errors.As(err, &fromBroker) {
		return fromBroker.Message
	}
	return verifiable.Cause(err)
}
