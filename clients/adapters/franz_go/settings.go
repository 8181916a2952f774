package main

import (
	"fmt"
	"math"
	"math/rand"
	"net"
	"strconv"
	"time"

	"adapter/verifiable"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// The minimum of RequestTimeoutOverhead and ProduceRequestTimeout in every version, and the lowest default of
	// MetadataMinAge in any version.
	leastTimeout = time.Second
	leastMinAge  = 2500 * time.Millisecond

	backoffJitter = 0.2 // as in Java
)

var (
	acks = map[string]kgo.Acks{
		"all": kgo.AllISRAcks(), "-1": kgo.AllISRAcks(), "1": kgo.LeaderAck(), "0": kgo.NoAck(),
	}
	codecs = map[string]kgo.CompressionCodec{
		"none":   kgo.NoCompression(),
		"gzip":   kgo.GzipCompression(),
		"snappy": kgo.SnappyCompression(),
		"lz4":    kgo.Lz4Compression(),
		"zstd":   kgo.ZstdCompression(),
	}
)

// Features of later versions, which the files since_*.go set.
var (
	// later has settings, by Java's name.
	later = map[string]func(*options) verifiable.Setter{}

	// always has options that no setting requests.
	always []kgo.Opt

	// tries converts a number of retries for RecordRetries, which counted the first try too.
	tries = func(retries int) int { return retries + 1 }
)

// options are the options of one client, from the settings.
type options struct {
	all             []kgo.Opt
	idempotent      bool
	retryBackoff    time.Duration
	retryBackoffMax time.Duration
	reset           kgo.Offset // of a consumer
}

// adding returns a function that adds the option that one of kgo's functions makes of a value.
func adding[V any, O kgo.Opt](o *options, option func(V) O) func(V) {
	return func(value V) { o.all = append(o.all, option(value)) }
}

func translate(config verifiable.Config) ([]kgo.Opt, verifiable.Told) {
	o := &options{
		idempotent:      config["enable.idempotence"] != "false",
		retryBackoff:    100 * time.Millisecond,
		retryBackoffMax: time.Second,
	}
	setters := o.setters()
	for name, setter := range later {
		setters[name] = setter(o)
	}
	told := config.Translate(setters)
	if o.idempotent {
		toldOfIdempotence(config, told)
	}
	o.all = append(o.all, kgo.RetryBackoffFn(o.backoff), kgo.RecordPartitioner(placed{defaultPartitioner()}))
	return append(o.all, always...), told
}

func (o *options) setters() map[string]verifiable.Setter {
	redialled := verifiable.Absent("a failed dial is retried after RetryBackoffFn")
	return map[string]verifiable.Setter{
		"acks":       verifiable.OneOf("RequiredAcks", acks, adding(o, kgo.RequiredAcks)),
		"batch.size": verifiable.Absent("ProducerBatchMaxBytes also rejects larger records: it is max.request.size"),
		"bootstrap.servers": verifiable.List("SeedBrokers", func(addresses []string) {
			o.all = append(o.all, kgo.SeedBrokers(addresses...))
		}),
		"buffer.memory": verifiable.Absent("before 1.15 it counts records, not bytes"),
		"client.id":     verifiable.Text("ClientID", adding(o, kgo.ClientID)),
		"compression.type": verifiable.OneOf("ProducerBatchCompression", codecs, func(codec kgo.CompressionCodec) {
			o.all = append(o.all, kgo.ProducerBatchCompression(codec))
		}),
		"delivery.timeout.ms":                   verifiable.Duration("RecordDeliveryTimeout", adding(o, kgo.RecordDeliveryTimeout)),
		"enable.idempotence":                    o.setIdempotence,
		"linger.ms":                             verifiable.Duration("ProducerLinger", adding(o, kgo.ProducerLinger)),
		"max.block.ms":                          verifiable.Absent("Produce waits for room until its context ends, which would fail the record; an abort waits this long"),
		"max.in.flight.requests.per.connection": o.inFlight(verifiable.Fixed(1)),
		"max.request.size":                      o.setMaxBytes,
		"metadata.max.age.ms":                   verifiable.Duration("MetadataMaxAge", o.setMaxAge),
		"reconnect.backoff.max.ms":              redialled,
		"reconnect.backoff.ms":                  redialled,
		"request.timeout.ms":                    o.setRequestTimeout,
		"retries":                               o.setRetries,
		"retry.backoff.max.ms":                  verifiable.Duration("RetryBackoffFn", verifiable.Into(&o.retryBackoffMax)),
		"retry.backoff.ms":                      verifiable.Duration("RetryBackoffFn", verifiable.Into(&o.retryBackoff)),
		"socket.connection.setup.timeout.ms":    verifiable.Duration("Dialer", o.setDialTimeout),
		"transaction.timeout.ms":                verifiable.Duration("TransactionTimeout", adding(o, kgo.TransactionTimeout)),
		"transactional.id":                      verifiable.Text("TransactionalID", adding(o, kgo.TransactionalID)),
	}
}

// toldOfIdempotence reports the settings that idempotence overrides.
func toldOfIdempotence(config verifiable.Config, told verifiable.Told) {
	const beyond = "%s %v is set, but with idempotence it does not end records whose outcome is unknown"
	if applied, ok := told.Applied["delivery.timeout.ms"]; ok {
		told.NotAsAsked("delivery.timeout.ms", fmt.Sprintf(beyond, applied[0], applied[1]))
	}
	if applied, ok := told.Applied["retries"]; ok && string(config["retries"]) != strconv.Itoa(math.MaxInt32) {
		told.NotAsAsked("retries", fmt.Sprintf(beyond, applied[0], applied[1]))
	}
}

// inFlight is 5 with idempotence, and otherwise up to the setter.
func (o *options) inFlight(otherwise verifiable.Setter) verifiable.Setter {
	if o.idempotent {
		return verifiable.Fixed(5)
	}
	return otherwise
}

func (o *options) setIdempotence(value verifiable.Value) (string, any, error) {
	on, err := value.Bool()
	if err == nil && !on {
		o.all = append(o.all, kgo.DisableIdempotentWrite())
	}
	return "DisableIdempotentWrite", !on, err
}

func (o *options) setMaxBytes(value verifiable.Value) (string, any, error) {
	bytes, err := value.Int()
	if err == nil && bytes > math.MaxInt32 {
		err = fmt.Errorf("%d bytes are more than it supports", bytes)
	}
	if err == nil {
		o.all = append(o.all, kgo.ProducerBatchMaxBytes(int32(bytes)))
	}
	return "ProducerBatchMaxBytes", bytes, err
}

func (o *options) setMaxAge(age time.Duration) {
	o.all = append(o.all, kgo.MetadataMaxAge(age))
	if age < 2*leastMinAge { // franz-go refuses a MetadataMaxAge below its MetadataMinAge
		o.all = append(o.all, kgo.MetadataMinAge(min(age, leastMinAge)))
	}
}

// setRequestTimeout divides the time for a Produce request into a part for the broker and a part for the network, as
// franz-go does. All other requests have only the second part.
func (o *options) setRequestTimeout(value verifiable.Value) (string, any, error) {
	asked, err := value.Duration()
	if err != nil {
		return "", nil, err
	}
	overhead := max(asked/2, leastTimeout)
	produce := max(asked-overhead, leastTimeout)
	o.all = append(o.all, kgo.RequestTimeoutOverhead(overhead), kgo.ProduceRequestTimeout(produce))
	own, given := "ProduceRequestTimeout + RequestTimeoutOverhead", fmt.Sprintf("%v + %v", produce, overhead)
	if produce+overhead != asked {
		err = fmt.Errorf("%s is set to %s, the least that every version takes", own, given)
	}
	return own, given, err
}

func (o *options) setRetries(value verifiable.Value) (string, any, error) {
	retries, err := value.Int()
	if err == nil {
		o.all = append(o.all, kgo.RecordRetries(tries(retries)))
	}
	return "RecordRetries", tries(retries), err
}

func (o *options) setDialTimeout(timeout time.Duration) {
	o.all = append(o.all, kgo.Dialer((&net.Dialer{Timeout: timeout}).DialContext))
}

// backoff is the same as Java's: it doubles from retry.backoff.ms to retry.backoff.max.ms.
func (o *options) backoff(failures int) time.Duration {
	doubled := float64(o.retryBackoff) * math.Pow(2, float64(max(failures-1, 0)))
	bounded := min(doubled, float64(o.retryBackoffMax))
	return time.Duration(bounded * (1 + backoffJitter*(2*rand.Float64()-1)))
}
