// The program for sarama.
//
// It reports a definite failure if the dispatcher rejects a record before anything is sent (a ConfigurationError, a
// partition that does not exist), and for all records of a producer that could not be created: unlike other clients,
// sarama requests a producer id in its constructor, and fails if no broker answers. All other errors are info.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"adapter/verifiable"

	"github.com/IBM/sarama"
)

const unknownOffset = -1

func main() {
	sarama.Logger = log.New(os.Stderr, "sarama: ", log.Lmicroseconds)
	verifiable.Run(&adapter{})
}

// adapter wraps a sarama.AsyncProducer, or the consumer.
type adapter struct {
	addresses   []string
	settings    *sarama.Config
	client      sarama.Client // of a transactional producer
	producer    sarama.AsyncProducer
	unbuilt     error // why there is no producer
	withoutAcks bool
	own         map[string]string
	drained     chan struct{} // closed once the producer has closed both of its channels
	consumer    consumer
}

func (a *adapter) Consumer() verifiable.ConsumerAdapter { return &a.consumer }

func (a *adapter) TakeOwn(own map[string]string) { a.own = own }

// Features of later versions, which the files since_*.go set.
var (
	producerFeatures = []string{"producer", "idempotence", "client_config"}
	isTransactional  = func(*sarama.Config) bool { return false }
)

// sending is the metadata that a message carries through the producer.
type sending struct {
	result    *verifiable.Result
	partition *int32
}

func (a *adapter) About() verifiable.About {
	return verifiable.About{
		Client:        "sarama",
		ClientVersion: verifiable.ModuleVersion("github.com/IBM/sarama"),
		Language:      "go",
		Features:      append(producerFeatures, consumerFeatures()...),
	}
}

func (a *adapter) Configure(config verifiable.Config) (verifiable.Told, error) {
	addresses, own, told := translate(config)
	told = told.Own(a.own, func(path, value string) error { return verifiable.SetField(own, path, value) })
	a.withoutAcks = own.Producer.RequiredAcks == sarama.NoResponse
	if err := own.Validate(); err != nil {
		return told, verifiable.Refused(err)
	}
	a.addresses, a.settings = addresses, own
	if isTransactional(own) {
		return told, nil
	}
	if a.producer, a.unbuilt = build(addresses, own); a.unbuilt == nil {
		a.serve()
	}
	return told, nil
}

// serve begins to record the results of the producer.
func (a *adapter) serve() {
	a.drained = make(chan struct{})
	go drain(a.producer, a.withoutAcks, a.drained)
}

// build creates the producer. Old versions panic if an idempotent producer finds no broker that answers.
func build(addresses []string, own *sarama.Config) (producer sarama.AsyncProducer, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			producer, err = nil, fmt.Errorf("sarama panicked: %v", reason)
		}
	}()
	return sarama.NewAsyncProducer(addresses, own)
}

func (a *adapter) Send(record verifiable.Record, result *verifiable.Result) {
	if a.unbuilt != nil {
		result.Fail(errorName(a.unbuilt))
		return
	}
	message := &sarama.ProducerMessage{
		Topic:    record.Topic,
		Value:    sarama.ByteEncoder(record.Value),
		Metadata: sending{result, record.Partition},
	}
	if record.Key != nil {
		message.Key = sarama.ByteEncoder(record.Key)
	}
	a.producer.Input() <- message
}

// drain records results until the producer is closed. If either channel is not read, the producer blocks.
func drain(producer sarama.AsyncProducer, withoutAcks bool, drained chan<- struct{}) {
	defer close(drained)
	successes, failures := producer.Successes(), producer.Errors()
	for successes != nil || failures != nil {
		select {
		case message, open := <-successes:
			if !open {
				successes = nil
				continue
			}
			written(message, withoutAcks)
		case failure, open := <-failures:
			if !open {
				failures = nil
				continue
			}
			failed(failure)
		}
	}
}

func written(message *sarama.ProducerMessage, withoutAcks bool) {
	offset := message.Offset
	if withoutAcks {
		offset = unknownOffset
	}
	message.Metadata.(sending).result.OK(message.Partition, offset)
}

func failed(failure *sarama.ProducerError) {
	result := failure.Msg.Metadata.(sending).result
	var refusal sarama.ConfigurationError
	if errors.As(failure.Err, &refusal) || errors.Is(failure.Err, sarama.ErrInvalidPartition) {
		result.Fail(failure.Err.Error())
		return
	}
	result.Info(errorName(failure.Err))
}

// Close lets the producer send what it has. Once both channels are closed, every record has a result.
func (a *adapter) Close(ctx context.Context) bool {
	if a.producer == nil {
		return true
	}
	a.producer.AsyncClose()
	select {
	case <-a.drained:
		return true
	case <-ctx.Done():
		return false
	}
}

// errorName returns sarama's own name for an error that wraps the network errors of all brokers.
func errorName(err error) string {
	if errors.Is(err, sarama.ErrOutOfBrokers) {
		return sarama.ErrOutOfBrokers.Error()
	}
	return verifiable.Cause(err)
}
