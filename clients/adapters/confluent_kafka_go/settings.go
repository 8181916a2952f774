package main

import (
	"errors"
	"strconv"
	"strings"

	"adapter/verifiable"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

// renamed is Java's name -> librdkafka's, where they differ. Its request.timeout.ms is only what the broker is told to
// wait for acknowledgements, how long the client waits for an answer is socket.timeout.ms. Its metadata.max.age.ms is
// when cached metadata dies, the refresh has another name.
var renamed = map[string][]string{
	"request.timeout.ms":  {"socket.timeout.ms", "request.timeout.ms"},
	"metadata.max.age.ms": {"topic.metadata.refresh.interval.ms"},
	"max.request.size":    {"message.max.bytes"},
	"buffer.memory":       {"queue.buffering.max.kbytes"},
}

// absent is Java's name -> why it is not given to librdkafka.
var absent = map[string]string{
	"max.block.ms": "Produce never blocks; the adapter hands a record over again for this long while the queue is full",
}

// properties are librdkafka's, by the Java name that asks for them. Which of them it has depends on its version, and it
// says so itself.
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

func (p properties) all() *kafka.ConfigMap {
	every := kafka.ConfigMap{}
	for _, group := range p {
		for name, value := range group {
			every[name] = value
		}
	}
	return &every
}

// unknown is the Java name of the property that librdkafka says it does not have, and that property.
func (p properties) unknown(refusal error) (java, own string, ok bool) {
	var told kafka.Error
	if !errors.As(refusal, &told) {
		return "", "", false
	}
	_, quoted, found := strings.Cut(told.String(), "No such configuration property: ")
	own = strings.Trim(quoted, `"`)
	for java, group := range p {
		if _, has := group[own]; has && found {
			return java, own, true
		}
	}
	return "", "", false
}
