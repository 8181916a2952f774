// The program for confluent-kafka-go.
//
// It reports a definite failure only if Produce itself rejects the record, which then never entered librdkafka's
// queue. A delivery report with an error is info, whatever the error: it says nothing about an earlier attempt whose
// response was lost.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"adapter/verifiable"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

const (
	javasMaxBlock  = time.Minute // the default of max.block.ms
	fullQueuePause = 10 * time.Millisecond
	flushSlice     = 200 * time.Millisecond
)

func main() { verifiable.Run(&adapter{}) }

// adapter wraps a kafka.Producer, or the consumer.
type adapter struct {
	producer   *kafka.Producer
	properties *kafka.ConfigMap
	maxBlock   time.Duration
	own        map[string]string
	consumer   consumer
}

func (a *adapter) Consumer() verifiable.ConsumerAdapter { return &a.consumer }

func (a *adapter) TakeOwn(own map[string]string) { a.own = own }

func (a *adapter) About() verifiable.About {
	_, librdkafka := kafka.LibraryVersion()
	return verifiable.About{
		Client:         "confluent-kafka-go",
		ClientVersion:  verifiable.ModuleVersion("github.com/confluentinc/confluent-kafka-go/v2"),
		LibraryVersion: librdkafka,
		Language:       "go/c",
		Features:       append([]string{"producer", "idempotence", "transactions", "client_config"}, consumerFeatures()...),
	}
}

func (a *adapter) Configure(config verifiable.Config) (verifiable.Told, error) {
	a.maxBlock = javasMaxBlock
	if asked, err := config["max.block.ms"].Duration(); err == nil {
		a.maxBlock = asked
	}
	wanted := properties{}
	return wanted.build(wanted.translate(config, producers), a.own, a.create)
}

// create makes the producer, or its successor.
func (a *adapter) create(all *kafka.ConfigMap) error {
	producer, err := kafka.NewProducer(all)
	if err == nil {
		a.producer, a.properties = producer, all
		go a.serve(producer.Events())
	}
	return err
}

func (a *adapter) Send(record verifiable.Record, result *verifiable.Result) {
	where := kafka.TopicPartition{Topic: &record.Topic, Partition: kafka.PartitionAny}
	if record.Partition != nil {
		where.Partition = *record.Partition
	}
	handed := &kafka.Message{TopicPartition: where, Key: record.Key, Value: record.Value, Opaque: result}
	deadline := time.Now().Add(a.maxBlock)
	for {
		err := a.producer.Produce(handed, nil)
		if err == nil {
			return
		}
		if code(err) != kafka.ErrQueueFull || time.Now().After(deadline) {
			result.Fail(code(err).String())
			return
		}
		time.Sleep(fullQueuePause)
	}
}

// serve records results from delivery reports. Other events of librdkafka are logged: after a fatal error the
// producer is unusable, but the results of its records still arrive.
func (a *adapter) serve(events <-chan kafka.Event) {
	for event := range events {
		report, ok := event.(*kafka.Message)
		if !ok {
			fmt.Fprintln(os.Stderr, "librdkafka:", event)
			continue
		}
		result, where := report.Opaque.(*verifiable.Result), report.TopicPartition
		if where.Error != nil {
			result.Info(code(where.Error).String())
		} else {
			result.OK(where.Partition, max(int64(where.Offset), -1))
		}
	}
}

func (a *adapter) Flush(ctx context.Context) bool {
	for ctx.Err() == nil {
		deadline, _ := ctx.Deadline()
		if left := min(time.Until(deadline), flushSlice); a.producer.Flush(int(left.Milliseconds())) == 0 {
			return true
		}
	}
	return false
}

// Close does not close a producer that lacks results: it would drop the records, and they must remain visible.
func (a *adapter) Close(ctx context.Context) bool {
	if !a.Flush(ctx) {
		return false
	}
	a.producer.Close()
	return true
}

func code(err error) kafka.ErrorCode {
	var told kafka.Error
	if errors.As(err, &told) {
		return told.Code()
	}
	return kafka.ErrFail
}
