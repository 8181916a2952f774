package main

import (
	"errors"
	"strconv"
	"strings"

	"adapter/verifiable"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

// renamed is Java's name -> librdkafka's, if they differ. Its request.timeout.ms is only the time that the broker
// waits for acknowledgements. The client waits for a response for socket.timeout.ms. Its metadata.max.age.ms is when
// cached metadata expires. The refresh interval has another name.
var renamed = map[string][]string{
	"request.timeout.ms":  {"socket.timeout.ms", "request.timeout.ms"},
	"metadata.max.age.ms": {"topic.metadata.refresh.interval.ms"},
	"max.request.size":    {"message.max.bytes"},
	"buffer.memory":       {"queue.buffering.max.kbytes"},
}

// absent is Java's name -> why librdkafka does not receive it.
var absent = map[string]string{
	"max.block.ms": "Produce never blocks; the adapter retries for this long while the queue is full",
}

// properties are librdkafka's, by the Java name that requests them. librdkafka itself rejects those that its version
// does not have.
type properties map[string]kafka.ConfigMap

func (p properties) translate(config verifiable.Config) verifiable.Told {
	setters := map[string]verifiable.Setter{}
	for java := range config {
		if why, none := absent[java]; none {
			setters[java] = verifiable.Absent(why)
			continue
		}
		setters[java] = func(value verifiable.Value) (string, any, error) {
			own, given := p.give(java, string(value))
			return own, given, nil
		}
	}
	return config.Translate(setters)
}

func (p properties) give(java, value string) (own, given string) {
	names := []string{java}
	if others, differ := renamed[java]; differ {
		names = others
	}
	if bytes, err := strconv.Atoi(value); err == nil && java == "buffer.memory" {
		value = strconv.Itoa(max(1, bytes/1024))
	}
	group := kafka.ConfigMap{}
	for _, name := range names {
		group[name] = value
	}
	p[java] = group
	return strings.Join(names, ", "), value
}

// all returns every property, with those of the user that the harness does not set.
func (p properties) all(given kafka.ConfigMap) *kafka.ConfigMap {
	every := kafka.ConfigMap{}
	for name, value := range given {
		every[name] = value
	}
	for _, group := range p {
		for name, value := range group {
			every[name] = value
		}
	}
	return &every
}

// unknown returns the property that librdkafka rejected as unknown.
func unknown(refusal error) (own string, ok bool) {
	var told kafka.Error
	if !errors.As(refusal, &told) {
		return "", false
	}
	_, quoted, found := strings.Cut(told.String(), "No such configuration property: ")
	return strings.Trim(quoted, `"`), found
}

// owner returns the Java name that requests a property.
func (p properties) owner(own string) (java string, ok bool) {
	for java, group := range p {
		if _, has := group[own]; has {
			return java, true
		}
	}
	return "", false
}

func (p properties) has(own string) bool {
	_, ok := p.owner(own)
	return ok
}

// newest returns librdkafka's newer name for one of its properties.
func newest(own string) string {
	newer, older := map[string]string{
		"compression.codec":        "compression.type",
		"max.in.flight":            "max.in.flight.requests.per.connection",
		"message.send.max.retries": "retries",
		"message.timeout.ms":       "delivery.timeout.ms",
		"metadata.broker.list":     "bootstrap.servers",
		"queue.buffering.max.ms":   "linger.ms",
		"request.required.acks":    "acks",
	}[own]
	if older {
		return newer
	}
	return own
}
