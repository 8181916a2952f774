package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"adapter/verifiable"

	"github.com/segmentio/kafka-go"
)

var (
	starts     = map[string]int64{"earliest": kafka.FirstOffset, "latest": kafka.LastOffset}
	isolations = map[string]kafka.IsolationLevel{
		"read_uncommitted": kafka.ReadUncommitted, "read_committed": kafka.ReadCommitted,
	}
	balancers = map[string]kafka.GroupBalancer{
		"range": kafka.RangeGroupBalancer{}, "roundrobin": kafka.RoundRobinGroupBalancer{},
	}
)

// translate passes the settings to the group, to the readers of its partitions, and to the dialer of both.
func (c *consumer) translate(config verifiable.Config) verifiable.Told {
	group, reader := &c.group, &c.reader
	redialled := verifiable.Absent("a lost connection is dialled again when there is something to send")
	only := func(value string) verifiable.Setter {
		return verifiable.OneOf("always", map[string]bool{value: true}, func(bool) {})
	}
	group.StartOffset = kafka.LastOffset // Java's default
	return config.Translate(map[string]verifiable.Setter{
		"allow.auto.create.topics": only("false"),
		"auto.commit.interval.ms":  verifiable.Absent("a ConsumerGroup commits nothing by itself"),
		"auto.offset.reset": verifiable.OneOf(
			"ConsumerGroupConfig.StartOffset", starts, verifiable.Into(&group.StartOffset)),
		"bootstrap.servers": verifiable.List("Brokers", func(addresses []string) {
			group.Brokers, reader.Brokers = addresses, addresses
		}),
		"check.crcs":             verifiable.Absent("the client does not say whether it checks them"),
		"client.id":              verifiable.Text("Dialer.ClientID", verifiable.Into(&c.dialer.ClientID)),
		"client.rack":            verifiable.Absent("a Fetch request of the client has no rack"),
		"default.api.timeout.ms": verifiable.Absent("calls end with their context"),
		"enable.auto.commit":     only("false"),
		"fetch.max.bytes":        verifiable.Absent("each partition is fetched alone: it is max.partition.fetch.bytes"),
		"fetch.max.wait.ms":      verifiable.Duration("ReaderConfig.MaxWait", verifiable.Into(&reader.MaxWait)),
		"fetch.min.bytes":        verifiable.Int("ReaderConfig.MinBytes", verifiable.Into(&reader.MinBytes)),
		"group.id":               verifiable.Text("ConsumerGroupConfig.ID", verifiable.Into(&group.ID)),
		"group.instance.id":      verifiable.Absent("the client has no static membership"),
		"group.protocol":         only("classic"),
		"heartbeat.interval.ms": verifiable.Duration(
			"ConsumerGroupConfig.HeartbeatInterval", verifiable.Into(&group.HeartbeatInterval)),
		"isolation.level":               verifiable.OneOf("ReaderConfig.IsolationLevel", isolations, verifiable.Into(&reader.IsolationLevel)),
		"max.partition.fetch.bytes":     verifiable.Int("ReaderConfig.MaxBytes", verifiable.Into(&reader.MaxBytes)),
		"max.poll.interval.ms":          c.setRebalanceTimeout,
		"max.poll.records":              c.setMost,
		"metadata.max.age.ms":           c.setWatch,
		"partition.assignment.strategy": c.setBalancers,
		"reconnect.backoff.max.ms":      redialled,
		"reconnect.backoff.ms":          redialled,
		"request.timeout.ms":            verifiable.Duration("ConsumerGroupConfig.Timeout", verifiable.Into(&group.Timeout)),
		"retry.backoff.max.ms":          verifiable.Duration("ReaderConfig.ReadBackoffMax", verifiable.Into(&reader.ReadBackoffMax)),
		"retry.backoff.ms": verifiable.Duration("ReaderConfig.ReadBackoffMin, ConsumerGroupConfig.JoinGroupBackoff", func(backoff time.Duration) {
			reader.ReadBackoffMin, group.JoinGroupBackoff = backoff, backoff
		}),
		"session.timeout.ms": verifiable.Duration(
			"ConsumerGroupConfig.SessionTimeout", verifiable.Into(&group.SessionTimeout)),
		"socket.connection.setup.timeout.ms": verifiable.Duration("Dialer.Timeout", verifiable.Into(&c.dialer.Timeout)),
	})
}

func (c *consumer) setMost(value verifiable.Value) (string, any, error) {
	asked, err := strconv.Atoi(string(value))
	if err == nil {
		c.most = max(asked, 1)
		err = errors.New("FetchMessage returns one message; the adapter takes at most this many in a turn")
	}
	return "", nil, err
}

// setRebalanceTimeout sets what Java derives from this setting too. A slow application stays in its group.
func (c *consumer) setRebalanceTimeout(value verifiable.Value) (string, any, error) {
	asked, err := value.Duration()
	if err == nil {
		c.group.RebalanceTimeout = asked
		err = fmt.Errorf("ConsumerGroupConfig.RebalanceTimeout %v is set, but a slow application stays in its group", asked)
	}
	return "", nil, err
}

// setWatch makes the group notice new partitions as early as Java's client does.
func (c *consumer) setWatch(value verifiable.Value) (string, any, error) {
	asked, err := value.Duration()
	if err == nil {
		c.group.WatchPartitionChanges, c.group.PartitionWatchInterval = true, asked
	}
	return "ConsumerGroupConfig.PartitionWatchInterval", asked.String(), err
}

func (c *consumer) setBalancers(value verifiable.Value) (string, any, error) {
	var chosen []kafka.GroupBalancer
	names := value.List()
	for index, name := range names {
		names[index] = verifiable.Assignor(name)
		balancer, known := balancers[names[index]]
		if !known {
			return "", nil, fmt.Errorf("the client does not support %q", name)
		}
		chosen = append(chosen, balancer)
	}
	c.group.GroupBalancers = chosen
	return "ConsumerGroupConfig.GroupBalancers", strings.Join(names, ","), nil
}
