// The program for kafka-go.
//
// It reports a definite failure if WriteMessages itself rejects a record: it is asynchronous, so a rejected record was
// never passed to a partition's writer. An error from Completion is info.
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"time"

	"adapter/verifiable"

	"github.com/segmentio/kafka-go"
)

const unknownOffset = -1

func main() { verifiable.Run(&adapter{}) }

// adapter wraps an asynchronous kafka.Writer that reports each message's result through its Completion, or the consumer.
type adapter struct {
	writer   *kafka.Writer
	maxBlock time.Duration
	own      map[string]string
	consumer consumer
}

func (a *adapter) Consumer() verifiable.ConsumerAdapter { return &a.consumer }

func (a *adapter) TakeOwn(own map[string]string) { a.own = own }

// sending is the data that a message carries through the writer.
type sending struct {
	result    *verifiable.Result
	partition *int32
}

func (a *adapter) About() verifiable.About {
	return verifiable.About{
		Client:        "kafka-go",
		ClientVersion: verifiable.ModuleVersion("github.com/segmentio/kafka-go"),
		Language:      "go",
		Features:      []string{"producer", "client_config", "consumer", "group", "read_committed", "assign", "seek"},
	}
}

func (a *adapter) Configure(config verifiable.Config) (verifiable.Told, error) {
	a.writer = &kafka.Writer{
		Async:       true,
		Balancer:    placedOr(&kafka.Hash{}),
		ErrorLogger: log.New(os.Stderr, "kafka-go: ", log.Lmicroseconds),
		Transport:   &kafka.Transport{},
	}
	a.writer.Completion = a.complete
	told := translate(config, a)
	parts := &struct {
		Writer    *kafka.Writer
		Transport *kafka.Transport
	}{a.writer, a.writer.Transport.(*kafka.Transport)}
	return told.Own(a.own, func(path, value string) error {
		return verifiable.SetField(parts, path, value)
	}), nil
}

func (a *adapter) Send(record verifiable.Record, result *verifiable.Result) {
	// The writer waits only for metadata, at most for its ReadTimeout. It does the rest asynchronously.
	ctx, cancel := context.WithTimeout(context.Background(), a.maxBlock)
	defer cancel()
	err := a.writer.WriteMessages(ctx, kafka.Message{
		Topic:      record.Topic,
		Key:        record.Key,
		Value:      record.Value,
		WriterData: sending{result, record.Partition},
	})
	if err != nil {
		result.Fail(errorName(err))
	}
}

func (a *adapter) complete(messages []kafka.Message, err error) {
	for _, message := range messages {
		result := message.WriterData.(sending).result
		switch {
		case err != nil:
			result.Info(errorName(err))
		case a.writer.RequiredAcks == kafka.RequireNone:
			result.OK(int32(message.Partition), unknownOffset)
		default:
			result.OK(int32(message.Partition), message.Offset)
		}
	}
}

// Close waits until everything is written or given up, without a timeout. The caller has its own.
func (a *adapter) Close(context.Context) bool { return a.writer.Close() == nil }

func errorName(err error) string {
	var fromBroker kafka.Error
	if errors.As(err, &fromBroker) {
		return fromBroker.Title()
	}
	return verifiable.Cause(err)
}
