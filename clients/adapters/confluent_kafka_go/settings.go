package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"adapter/verifiable"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

// names are Java's settings that librdkafka has under another name or not at all.
type names struct {
	// renamed is Java's name -> librdkafka's.
	renamed map[string][]string
	// absent is Java's name -> why librdkafka does not receive it.
	absent map[string]string
	// values is Java's name -> its value -> librdkafka's. A value without one is not supported.
	values map[string]map[string]string
}

// producers: request.timeout.ms is only the time that the broker waits for acknowledgements. The client waits for a
// response for socket.timeout.ms. Its metadata.max.age.ms is when cached metadata expires. The refresh interval has
// another name.
var producers = names{
	renamed: map[string][]string{
		"request.timeout.ms":  {"socket.timeout.ms", "request.timeout.ms"},
		"metadata.max.age.ms": {"topic.metadata.refresh.interval.ms"},
		"max.request.size":    {"message.max.bytes"},
		"buffer.memory":       {"queue.buffering.max.kbytes"},
	},
	absent: map[string]string{
		"max.block.ms": "Produce never blocks; the adapter retries for this long while the queue is full",
	},
}

var consumers = names{
	renamed: map[string][]string{
		"request.timeout.ms":  {"socket.timeout.ms"},
		"metadata.max.age.ms": {"topic.metadata.refresh.interval.ms"},
		"fetch.max.wait.ms":   {"fetch.wait.max.ms"},
	},
	absent: map[string]string{
		"default.api.timeout.ms": "each call of librdkafka has a time of its own",
		"max.poll.records":       "Poll returns one record; the adapter takes at most this many in a turn",
	},
	values: map[string]map[string]string{
		"auto.offset.reset": {"earliest": "earliest", "latest": "latest", "none": "error"},
		"partition.assignment.strategy": {
			"range": "range", "roundrobin": "roundrobin", "cooperative-sticky": "cooperative-sticky",
		},
	},
}

// value returns librdkafka's value of a setting, which may be a list.
func (n names) value(java string, value verifiable.Value) (string, error) {
	known, limited := n.values[java]
	if !limited {
		return string(value), nil
	}
	list := value.List()
	for index, each := range list {
		own, ok := known[verifiable.Assignor(each)]
		if !ok {
			return "", fmt.Errorf("librdkafka does not support %q", each)
		}
		list[index] = own
	}
	return strings.Join(list, ","), nil
}

// properties are librdkafka's, by the Java name that requests them. librdkafka itself rejects those that its version
// does not have.
type properties map[string]kafka.ConfigMap

func (p properties) translate(config verifiable.Config, names names) verifiable.Told {
	setters := map[string]verifiable.Setter{}
	for java := range config {
		if why, none := names.absent[java]; none {
			setters[java] = verifiable.Absent(why)
			continue
		}
		setters[java] = func(value verifiable.Value) (string, any, error) {
			given, err := names.value(java, value)
			if err != nil {
				return "", nil, err
			}
			own, given := p.give(java, given, names.renamed[java])
			return own, given, nil
		}
	}
	return config.Translate(setters)
}

// build makes the client, without the properties that its librdkafka does not have.
func (p properties) build(
	told verifiable.Told, own map[string]string, create func(*kafka.ConfigMap) error,
) (verifiable.Told, error) {
	given := kafka.ConfigMap{}
	told = told.Own(own, func(name, value string) error {
		if p.has(newest(name)) {
			return errors.New("the harness sets it")
		}
		given[name] = value
		return nil
	})
	for {
		err := create(p.all(given))
		if err == nil {
			return told, nil
		}
		own, ok := unknown(err)
		why := fmt.Sprintf("this librdkafka has no property %q", own)
		if _, is := given[own]; ok && is {
			delete(given, own)
			told.ClientNotSet[own] = why
			continue
		}
		java, ok := p.owner(own)
		if !ok {
			return told, verifiable.Refused(err)
		}
		delete(p, java)
		told.NotAsAsked(java, why)
	}
}

func (p properties) give(java, value string, names []string) (own, given string) {
	if len(names) == 0 {
		names = []string{java}
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
