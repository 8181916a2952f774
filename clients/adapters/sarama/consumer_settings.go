package main

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"adapter/verifiable"

	"github.com/IBM/sarama"
)

// brokersRetention is the broker's own default. Old versions commit by a request that Kafka 4 still has only if they
// give one; new versions ignore it.
const brokersRetention = 7 * 24 * time.Hour

// cooperativeSticky makes that strategy, in versions that have it.
var cooperativeSticky func() sarama.BalanceStrategy

var (
	resets     = map[string]int64{"earliest": sarama.OffsetOldest, "latest": sarama.OffsetNewest}
	isolations = map[string]string{"read_uncommitted": "0", "read_committed": "1"}
	strategies = map[string]sarama.BalanceStrategy{
		"range": sarama.BalanceStrategyRange, "roundrobin": sarama.BalanceStrategyRoundRobin,
	}
)

// reflected returns the type of an interface or a struct.
func reflected[T any]() reflect.Type { return reflect.TypeOf((*T)(nil)).Elem() }

// translate converts the settings of a consumer. Fields that only some versions have are set by their names.
func (c *consumer) translate(config verifiable.Config) verifiable.Told {
	c.config = sarama.NewConfig()
	own := c.config
	own.Version = brokerVersion()
	own.Metadata.Full = false // otherwise the constructor fails if no broker is reachable
	own.Consumer.Return.Errors = true
	own.Consumer.Offsets.Retention = brokersRetention
	redialled := verifiable.Absent("a lost connection is dialled again when there is something to send")
	return config.Translate(map[string]verifiable.Setter{
		"allow.auto.create.topics": c.named("Metadata.AllowAutoTopicCreation"),
		"auto.commit.interval.ms":  c.named("Consumer.Offsets.AutoCommit.Interval", "Consumer.Offsets.CommitInterval"),
		"auto.offset.reset":        verifiable.OneOf("Consumer.Offsets.Initial", resets, verifiable.Into(&own.Consumer.Offsets.Initial)),
		"bootstrap.servers":        verifiable.List("addrs", verifiable.Into(&c.addresses)),
		"check.crcs":               verifiable.OneOf("always", map[string]bool{"true": true}, func(bool) {}),
		"client.id":                verifiable.Text("ClientID", verifiable.Into(&own.ClientID)),
		"client.rack":              c.named("RackID"),
		"default.api.timeout.ms":   verifiable.Absent("each call takes as many attempts as Metadata.Retry and its own retries say"),
		"enable.auto.commit":       c.setAutoCommit,
		"fetch.max.bytes":          c.named("Consumer.Fetch.MaxBytes"),
		"fetch.max.wait.ms":        verifiable.Duration("Consumer.MaxWaitTime", verifiable.Into(&own.Consumer.MaxWaitTime)),
		"fetch.min.bytes":          c.named("Consumer.Fetch.Min"),
		"group.id":                 verifiable.Text("groupID", verifiable.Into(&c.group)),
		"group.instance.id":        c.named("Consumer.Group.InstanceId"),
		"group.protocol":           verifiable.OneOf("always", map[string]bool{"classic": true}, func(bool) {}),
		"heartbeat.interval.ms": verifiable.Duration(
			"Consumer.Group.Heartbeat.Interval", verifiable.Into(&own.Consumer.Group.Heartbeat.Interval)),
		"isolation.level":               c.setIsolation,
		"max.partition.fetch.bytes":     c.named("Consumer.Fetch.Default"),
		"max.poll.interval.ms":          c.setRebalanceTimeout,
		"max.poll.records":              c.setMost,
		"metadata.max.age.ms":           verifiable.Duration("Metadata.RefreshFrequency", verifiable.Into(&own.Metadata.RefreshFrequency)),
		"partition.assignment.strategy": c.setStrategies,
		"reconnect.backoff.max.ms":      redialled,
		"reconnect.backoff.ms":          redialled,
		"request.timeout.ms": verifiable.Duration("Net.ReadTimeout, Net.WriteTimeout", func(timeout time.Duration) {
			own.Net.ReadTimeout, own.Net.WriteTimeout = timeout, timeout
		}),
		"retry.backoff.max.ms": verifiable.Absent("the backoff is always the same"),
		"retry.backoff.ms": verifiable.Duration("Consumer.Retry.Backoff, Metadata.Retry.Backoff", func(backoff time.Duration) {
			own.Consumer.Retry.Backoff, own.Metadata.Retry.Backoff = backoff, backoff
		}),
		"session.timeout.ms": verifiable.Duration(
			"Consumer.Group.Session.Timeout", verifiable.Into(&own.Consumer.Group.Session.Timeout)),
		"socket.connection.setup.timeout.ms": verifiable.Duration("Net.DialTimeout", verifiable.Into(&own.Net.DialTimeout)),
	})
}

// named sets the first of these fields that this version has. Times are in milliseconds.
func (c *consumer) named(paths ...string) verifiable.Setter {
	return func(value verifiable.Value) (own string, given any, err error) {
		for _, path := range paths {
			text := string(value)
			if strings.HasSuffix(path, "Interval") {
				text += "ms"
			}
			if err = verifiable.SetField(c.config, path, text); err == nil {
				return path, text, nil
			}
		}
		return "", nil, err
	}
}

func (c *consumer) setAutoCommit(value verifiable.Value) (string, any, error) {
	const path = "Consumer.Offsets.AutoCommit.Enable"
	on, err := value.Bool()
	if err == nil && verifiable.SetField(c.config, path, string(value)) != nil {
		return "MarkMessage", on, nil // what is marked is always committed, so a version without the field marks nothing
	}
	return path, on, err
}

func (c *consumer) setIsolation(value verifiable.Value) (string, any, error) {
	const path = "Consumer.IsolationLevel"
	return path, string(value), verifiable.SetField(c.config, path, isolations[string(value)])
}

func (c *consumer) setMost(value verifiable.Value) (string, any, error) {
	asked, err := strconv.Atoi(string(value))
	if err == nil {
		c.most = max(asked, 1)
		err = errors.New("a handler gets one message at a time; the adapter takes at most this many in a turn")
	}
	return "", nil, err
}

// setRebalanceTimeout sets what Java derives from this setting too. A slow handler stays in its group.
func (c *consumer) setRebalanceTimeout(value verifiable.Value) (string, any, error) {
	asked, err := value.Duration()
	if err == nil {
		c.config.Consumer.Group.Rebalance.Timeout = asked
		err = fmt.Errorf("Consumer.Group.Rebalance.Timeout %v is set, but a slow handler does not leave its group", asked)
	}
	return "", nil, err
}

// setStrategies sets several strategies, or one in versions that have only one.
func (c *consumer) setStrategies(value verifiable.Value) (string, any, error) {
	var chosen []sarama.BalanceStrategy
	names := value.List()
	for index, name := range names {
		names[index] = verifiable.Assignor(name)
		strategy, known := strategies[names[index]]
		if names[index] == "cooperative-sticky" && cooperativeSticky != nil {
			strategy, known = cooperativeSticky(), true
		}
		if !known {
			return "", nil, fmt.Errorf("the client does not support %q", name)
		}
		chosen = append(chosen, strategy)
	}
	rebalance := reflect.ValueOf(&c.config.Consumer.Group.Rebalance).Elem()
	if several := rebalance.FieldByName("GroupStrategies"); several.IsValid() {
		several.Set(reflect.ValueOf(chosen))
		return "Consumer.Group.Rebalance.GroupStrategies", strings.Join(names, ","), nil
	}
	if len(chosen) > 1 {
		return "", nil, errors.New("this version takes only one strategy")
	}
	rebalance.FieldByName("Strategy").Set(reflect.ValueOf(chosen[0]))
	return "Consumer.Group.Rebalance.Strategy", names[0], nil
}
