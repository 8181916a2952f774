package main

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"adapter/verifiable"

	"github.com/twmb/franz-go/pkg/kgo"
)

// leastAutoCommit is the minimum of AutoCommitInterval.
const leastAutoCommit = 100 * time.Millisecond

// serverSide is the option of the protocol in which the broker assigns. It is nil in versions without it.
var serverSide func() kgo.Opt

var (
	balancers = map[string]func() kgo.GroupBalancer{
		"range":              kgo.RangeBalancer,
		"roundrobin":         kgo.RoundRobinBalancer,
		"sticky":             kgo.StickyBalancer,
		"cooperative-sticky": kgo.CooperativeStickyBalancer,
	}
	resets = map[string]kgo.Offset{
		"earliest": kgo.NewOffset().AtStart(), "latest": kgo.NewOffset().AtEnd(),
	}
	isolations = map[string]kgo.IsolationLevel{
		"read_committed": kgo.ReadCommitted(), "read_uncommitted": kgo.ReadUncommitted(),
	}
)

func consumerFeatures() []string {
	features := []string{"consumer", "group", "cooperative"}
	if serverSide != nil {
		features = append(features, "consumer_protocol")
	}
	return append(features, "static_membership", "read_committed", "assign", "seek", "pause", "pattern", "wakeup")
}

// translate returns the options for a consumer. The settings of a group are options of a client with a group.
func (c *consumer) translate(config verifiable.Config) ([]kgo.Opt, verifiable.Told) {
	o := &options{retryBackoff: 100 * time.Millisecond, retryBackoffMax: time.Second}
	setters := o.fetchSetters()
	shared := o.setters()
	for _, java := range []string{
		"bootstrap.servers", "client.id", "metadata.max.age.ms", "reconnect.backoff.max.ms", "reconnect.backoff.ms",
		"retry.backoff.max.ms", "retry.backoff.ms", "socket.connection.setup.timeout.ms",
	} {
		setters[java] = shared[java]
	}
	setters["max.poll.records"] = verifiable.Int("PollRecords", verifiable.Into(&c.most))
	for java, setter := range o.groupSetters() {
		if c.group == "" {
			setter = verifiable.Absent("it is an option of a group, and there is no group.id")
		}
		setters[java] = setter
	}
	setters["group.id"] = verifiable.Text("ConsumerGroup", verifiable.Into(&c.group))
	o.reset = kgo.NewOffset().AtEnd() // Java's default
	if _, given := config["auto.offset.reset"]; !given {
		o.all = append(o.all, kgo.ConsumeResetOffset(o.reset))
	}
	told := config.Translate(setters)
	c.reset = o.reset
	if c.isAuto && c.group != "" {
		o.all = append(o.all, kgo.AutoCommitCallback(c.autoCommitted))
	}
	o.all = append(o.all, kgo.RetryBackoffFn(o.backoff))
	return append(o.all, always...), told
}

func (o *options) fetchSetters() map[string]verifiable.Setter {
	return map[string]verifiable.Setter{
		"allow.auto.create.topics": o.setAutoCreate,
		"auto.offset.reset": verifiable.OneOf("ConsumeResetOffset", resets, func(offset kgo.Offset) {
			o.reset = offset
			o.all = append(o.all, kgo.ConsumeResetOffset(offset))
		}),
		"check.crcs":                mustBe("true", "the client always checks them"),
		"client.rack":               verifiable.Text("Rack", adding(o, kgo.Rack)),
		"default.api.timeout.ms":    verifiable.Absent("each call of the client ends with its context"),
		"fetch.max.bytes":           verifiable.Int("FetchMaxBytes", o.bytes(func(n int32) kgo.Opt { return kgo.FetchMaxBytes(n) })),
		"fetch.max.wait.ms":         verifiable.Duration("FetchMaxWait", adding(o, kgo.FetchMaxWait)),
		"fetch.min.bytes":           verifiable.Int("FetchMinBytes", o.bytes(func(n int32) kgo.Opt { return kgo.FetchMinBytes(n) })),
		"isolation.level":           verifiable.OneOf("FetchIsolationLevel", isolations, adding(o, kgo.FetchIsolationLevel)),
		"max.partition.fetch.bytes": verifiable.Int("FetchMaxPartitionBytes", o.bytes(func(n int32) kgo.Opt { return kgo.FetchMaxPartitionBytes(n) })),
		"request.timeout.ms":        o.setOverhead,
	}
}

func (o *options) groupSetters() map[string]verifiable.Setter {
	return map[string]verifiable.Setter{
		"auto.commit.interval.ms":       o.setAutoCommitInterval,
		"enable.auto.commit":            o.setAutoCommit,
		"group.instance.id":             verifiable.Text("InstanceID", adding(o, kgo.InstanceID)),
		"group.protocol":                o.setProtocol,
		"heartbeat.interval.ms":         verifiable.Duration("HeartbeatInterval", adding(o, kgo.HeartbeatInterval)),
		"max.poll.interval.ms":          o.setRebalanceTimeout,
		"partition.assignment.strategy": o.setBalancers,
		"session.timeout.ms":            verifiable.Duration("SessionTimeout", adding(o, kgo.SessionTimeout)),
	}
}

// mustBe is a setting that has one value in the client, which it cannot change.
func mustBe(only, why string) verifiable.Setter {
	return func(value verifiable.Value) (string, any, error) {
		if string(value) != only {
			return "", nil, errors.New(why)
		}
		return "always", only, nil
	}
}

func (o *options) bytes(option func(int32) kgo.Opt) func(int) {
	return func(bytes int) { o.all = append(o.all, option(int32(min(bytes, math.MaxInt32)))) }
}

func (o *options) setAutoCreate(value verifiable.Value) (string, any, error) {
	on, err := value.Bool()
	if err == nil && on {
		o.all = append(o.all, kgo.AllowAutoTopicCreation())
	}
	return "AllowAutoTopicCreation", on, err
}

func (o *options) setAutoCommit(value verifiable.Value) (string, any, error) {
	on, err := value.Bool()
	if err == nil && !on {
		o.all = append(o.all, kgo.DisableAutoCommit())
	}
	return "DisableAutoCommit", !on, err
}

func (o *options) setAutoCommitInterval(value verifiable.Value) (string, any, error) {
	asked, err := value.Duration()
	if err == nil && asked < leastAutoCommit {
		err = fmt.Errorf("the least AutoCommitInterval is %v", leastAutoCommit)
	}
	if err == nil {
		o.all = append(o.all, kgo.AutoCommitInterval(asked))
	}
	return "AutoCommitInterval", asked.String(), err
}

func (o *options) setProtocol(value verifiable.Value) (string, any, error) {
	switch {
	case value == "classic":
		return "ServerSideBalancer", false, nil
	case value != "consumer":
		return "", nil, fmt.Errorf("the client does not support %q", string(value))
	case serverSide == nil:
		return "", nil, errors.New("this version has only the classic protocol")
	}
	o.all = append(o.all, serverSide())
	return "ServerSideBalancer", true, nil
}

// setRebalanceTimeout sets what Java derives from this setting too. A client that polls late stays in its group.
func (o *options) setRebalanceTimeout(value verifiable.Value) (string, any, error) {
	asked, err := value.Duration()
	if err == nil {
		o.all = append(o.all, kgo.RebalanceTimeout(asked))
		err = fmt.Errorf("RebalanceTimeout %v is set, but a member that polls late is not removed from its group", asked)
	}
	return "", nil, err
}

func (o *options) setBalancers(value verifiable.Value) (string, any, error) {
	var chosen []kgo.GroupBalancer
	names := value.List()
	for index, name := range names {
		names[index] = verifiable.Assignor(name)
		balancer, known := balancers[names[index]]
		if !known {
			return "", nil, fmt.Errorf("the client does not support %q", name)
		}
		chosen = append(chosen, balancer())
	}
	o.all = append(o.all, kgo.Balancers(chosen...))
	return "Balancers", strings.Join(names, ","), nil
}

// setOverhead sets the time for a response, beyond what a request itself asks the broker to wait.
func (o *options) setOverhead(value verifiable.Value) (string, any, error) {
	asked, err := value.Duration()
	if err != nil {
		return "", nil, err
	}
	given := max(asked, leastTimeout)
	o.all = append(o.all, kgo.RequestTimeoutOverhead(given))
	if given != asked {
		err = fmt.Errorf("RequestTimeoutOverhead is set to %v, the least that every version takes", given)
	}
	return "RequestTimeoutOverhead", given.String(), err
}

// offset returns where a partition without a group begins: at this offset, or where auto.offset.reset says.
func (c *consumer) offset(at int64) kgo.Offset {
	if at == verifiable.Latest {
		return c.reset
	}
	return kgo.NewOffset().At(at)
}
