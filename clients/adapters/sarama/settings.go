package main

import (
	"fmt"
	"time"

	"adapter/verifiable"

	"github.com/IBM/sarama"
)

// mostRetries limits the retries, because sarama allocates room for each of them, for each partition. At a tenth of a
// second each, they last longer than any trial.
const mostRetries = 10_000

var (
	acks = map[string]sarama.RequiredAcks{
		"all": sarama.WaitForAll, "-1": sarama.WaitForAll, "1": sarama.WaitForLocal, "0": sarama.NoResponse,
	}
	codecs = map[string]sarama.CompressionCodec{
		"none":   sarama.CompressionNone,
		"gzip":   sarama.CompressionGZIP,
		"snappy": sarama.CompressionSnappy,
		"lz4":    sarama.CompressionLZ4,
	}
)

// later has settings of later versions by Java's name, which the files since_*.go set.
var later = map[string]func(*sarama.Config) verifiable.Setter{}

// translate converts the settings to sarama's configuration.
func translate(config verifiable.Config) (addresses []string, own *sarama.Config, told verifiable.Told) {
	own = sarama.NewConfig()
	own.Version = brokerVersion()
	own.Producer.Return.Successes = true
	own.Producer.Partitioner = placedOr(sarama.NewHashPartitioner)
	own.Metadata.Full = false // otherwise the constructor fails if no broker is reachable
	most := own.Producer.Retry.Backoff
	known := setters(own, &addresses, &most)
	for name, setter := range later {
		known[name] = setter(own)
	}
	told = config.Translate(known)
	own.Producer.Retry.BackoffFunc = func(retries, _ int) time.Duration {
		return min(own.Producer.Retry.Backoff<<min(max(retries-1, 0), 16), max(most, own.Producer.Retry.Backoff))
	}
	if own.Producer.Idempotent && own.Net.MaxOpenRequests != 1 {
		own.Net.MaxOpenRequests = 1
		told.NotAsAsked("max.in.flight.requests.per.connection", "sarama's idempotence needs Net.MaxOpenRequests 1, which is set")
	}
	return addresses, own, told
}

func setters(own *sarama.Config, addresses *[]string, most *time.Duration) map[string]verifiable.Setter {
	redialled := verifiable.Absent("a lost connection is dialled again when there is something to send")
	return map[string]verifiable.Setter{
		"acks":                verifiable.OneOf("Producer.RequiredAcks", acks, verifiable.Into(&own.Producer.RequiredAcks)),
		"batch.size":          verifiable.Absent("Producer.Flush.Bytes counts per broker, not per partition"),
		"bootstrap.servers":   verifiable.List("addrs", verifiable.Into(addresses)),
		"buffer.memory":       verifiable.Absent("the buffer is limited in records, not in bytes"),
		"client.id":           verifiable.Text("ClientID", verifiable.Into(&own.ClientID)),
		"compression.type":    verifiable.OneOf("Producer.Compression", codecs, verifiable.Into(&own.Producer.Compression)),
		"delivery.timeout.ms": verifiable.Absent("a record fails after a number of retries, not after a time"),
		"enable.idempotence":  verifiable.Bool("Producer.Idempotent", verifiable.Into(&own.Producer.Idempotent)),
		"linger.ms":           verifiable.Duration("Producer.Flush.Frequency", verifiable.Into(&own.Producer.Flush.Frequency)),
		"max.block.ms":        verifiable.Absent("Input() blocks as long as it is full"),
		"max.in.flight.requests.per.connection": verifiable.Int(
			"Net.MaxOpenRequests", verifiable.Into(&own.Net.MaxOpenRequests)),
		"max.request.size":         verifiable.Int("Producer.MaxMessageBytes", verifiable.Into(&own.Producer.MaxMessageBytes)),
		"metadata.max.age.ms":      verifiable.Duration("Metadata.RefreshFrequency", verifiable.Into(&own.Metadata.RefreshFrequency)),
		"reconnect.backoff.max.ms": redialled,
		"reconnect.backoff.ms":     redialled,
		"request.timeout.ms": verifiable.Duration("Net.ReadTimeout, Net.WriteTimeout, Producer.Timeout", func(timeout time.Duration) {
			own.Net.ReadTimeout, own.Net.WriteTimeout, own.Producer.Timeout = timeout, timeout, timeout
		}),
		"retries":                            retries(own),
		"retry.backoff.max.ms":               verifiable.Duration("Producer.Retry.BackoffFunc", verifiable.Into(most)),
		"retry.backoff.ms":                   verifiable.Duration("Producer.Retry.BackoffFunc", verifiable.Into(&own.Producer.Retry.Backoff)),
		"socket.connection.setup.timeout.ms": verifiable.Duration("Net.DialTimeout", verifiable.Into(&own.Net.DialTimeout)),
	}
}

func retries(own *sarama.Config) verifiable.Setter {
	return func(value verifiable.Value) (string, any, error) {
		asked, err := value.Int()
		if err != nil {
			return "", nil, err
		}
		own.Producer.Retry.Max = min(asked, mostRetries)
		if asked > mostRetries {
			err = fmt.Errorf("sarama allocates room for every retry; Producer.Retry.Max is set to %d", mostRetries)
		}
		return "Producer.Retry.Max", asked, err
	}
}

// brokerVersion returns the Kafka version whose protocol is used: the default of current sarama releases, or the
// newest that this version supports.
func brokerVersion() sarama.KafkaVersion {
	usual, err := sarama.ParseKafkaVersion("2.8.0")
	if err != nil || !sarama.MaxVersion.IsAtLeast(usual) {
		return sarama.MaxVersion
	}
	return usual
}

// placed puts messages with a partition there. The wrapped partitioner chooses for the others.
type placed struct{ sarama.Partitioner }

func placedOr(inner sarama.PartitionerConstructor) sarama.PartitionerConstructor {
	return func(topic string) sarama.Partitioner { return placed{inner(topic)} }
}

func (p placed) Partition(message *sarama.ProducerMessage, partitions int32) (int32, error) {
	if chosen := message.Metadata.(sending).partition; chosen != nil {
		return *chosen, nil
	}
	return p.Partitioner.Partition(message, partitions)
}

func (p placed) MessageRequiresConsistency(message *sarama.ProducerMessage) bool {
	if message.Metadata.(sending).partition != nil {
		return true
	}
	if inner, ok := p.Partitioner.(sarama.DynamicConsistencyPartitioner); ok {
		return inner.MessageRequiresConsistency(message)
	}
	return p.Partitioner.RequiresConsistency()
}
