//go:build since_1_4

package main

import (
	"adapter/verifiable"

	"github.com/twmb/franz-go/pkg/kgo"
)

func init() {
	newTurns = func() turns { return blockedTurns{} }
	later["max.in.flight.requests.per.connection"] = func(o *options) verifiable.Setter {
		own := "MaxProduceRequestsInflightPerBroker"
		return o.inFlight(verifiable.Int(own, adding(o, kgo.MaxProduceRequestsInflightPerBroker)))
	}
}

// blockedTurns lets the client itself block its rebalances between a poll and AllowRebalance.
type blockedTurns struct{}

func (blockedTurns) options() []kgo.Opt { return []kgo.Opt{kgo.BlockRebalanceOnPoll()} }

func (blockedTurns) allow(client *kgo.Client) { client.AllowRebalance() }

func (blockedTurns) callback(do func()) { do() }

func (blockedTurns) close(client *kgo.Client) { client.CloseAllowingRebalance() }
