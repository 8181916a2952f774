package main

import (
	"fmt"
	"time"

	"adapter/verifiable"

	"github.com/segmentio/kafka-go"
)

// javasMaxBlock is the default of Java's max.block.ms.
const javasMaxBlock = time.Minute

var (
	acks = map[string]kafka.RequiredAcks{
		"all": kafka.RequireAll, "-1": kafka.RequireAll, "1": kafka.RequireOne, "0": kafka.RequireNone,
	}
	codecs = map[string]kafka.Compression{
		"none": 0, "gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd,
	}
)

// translate passes the settings to the writer and to its transport.
func translate(config verifiable.Config, a *adapter) verifiable.Told {
	a.maxBlock = javasMaxBlock
	writer, transport := a.writer, a.writer.Transport.(*kafka.Transport)
	redialled := verifiable.Absent("a lost connection is dialled again when there is something to send")
	withoutTransactions := verifiable.Absent("kafka-go has no transactional producer")
	return config.Translate(map[string]verifiable.Setter{
		"acks":       verifiable.OneOf("Writer.RequiredAcks", acks, verifiable.Into(&writer.RequiredAcks)),
		"batch.size": verifiable.Absent("Writer.BatchBytes also rejects larger records: it is max.request.size"),
		"bootstrap.servers": verifiable.List("Writer.Addr", func(addresses []string) {
			writer.Addr = kafka.TCP(addresses...)
		}),
		"buffer.memory":      verifiable.Absent("the buffer is not limited"),
		"client.id":          verifiable.Text("Transport.ClientID", verifiable.Into(&transport.ClientID)),
		"compression.type":   verifiable.OneOf("Writer.Compression", codecs, verifiable.Into(&writer.Compression)),
		"enable.idempotence": verifiable.Absent("kafka-go has no idempotent producer"),
		"delivery.timeout.ms": verifiable.Absent(
			"a record fails after a number of attempts, not after a time"),
		"linger.ms":                             linger(writer),
		"max.block.ms":                          verifiable.Duration("WriteMessages(ctx)", verifiable.Into(&a.maxBlock)),
		"max.in.flight.requests.per.connection": verifiable.Fixed(1),
		"max.request.size": verifiable.Int("Writer.BatchBytes", func(bytes int) {
			writer.BatchBytes = int64(bytes)
		}),
		"metadata.max.age.ms":      verifiable.Duration("Transport.MetadataTTL", verifiable.Into(&transport.MetadataTTL)),
		"reconnect.backoff.max.ms": redialled,
		"reconnect.backoff.ms":     redialled,
		"request.timeout.ms": verifiable.Duration("Writer.ReadTimeout, Writer.WriteTimeout", func(timeout time.Duration) {
			writer.ReadTimeout, writer.WriteTimeout = timeout, timeout
		}),
		"retries":                attempts(writer),
		"retry.backoff.max.ms":   verifiable.Duration("Writer.WriteBackoffMax", verifiable.Into(&writer.WriteBackoffMax)),
		"retry.backoff.ms":       verifiable.Duration("Writer.WriteBackoffMin", verifiable.Into(&writer.WriteBackoffMin)),
		"transaction.timeout.ms": withoutTransactions,
		"transactional.id":       withoutTransactions,
		"socket.connection.setup.timeout.ms": verifiable.Duration(
			"Transport.DialTimeout", verifiable.Into(&transport.DialTimeout)),
	})
}

func linger(writer *kafka.Writer) verifiable.Setter {
	return func(value verifiable.Value) (string, any, error) {
		asked, err := value.Duration()
		writer.BatchTimeout = max(asked, time.Microsecond)
		if err == nil && asked == 0 {
			err = fmt.Errorf("0 would mean one second; Writer.BatchTimeout is set to %v", writer.BatchTimeout)
		}
		return "Writer.BatchTimeout", writer.BatchTimeout.String(), err
	}
}

// attempts also counts the first try, as kafka-go does.
func attempts(writer *kafka.Writer) verifiable.Setter {
	return func(value verifiable.Value) (string, any, error) {
		retries, err := value.Int()
		if err == nil {
			writer.MaxAttempts = retries + 1
		}
		return "Writer.MaxAttempts", writer.MaxAttempts, err
	}
}

// placedOr returns a balancer that puts messages with a partition there. The inner one chooses for the others.
func placedOr(inner kafka.Balancer) kafka.Balancer {
	return kafka.BalancerFunc(func(message kafka.Message, partitions ...int) int {
		if chosen := message.WriterData.(sending).partition; chosen != nil {
			return int(*chosen)
		}
		return inner.Balance(message, partitions...)
	})
}
