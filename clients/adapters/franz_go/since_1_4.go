//go:build since_1_4

package main

import (
	"adapter/verifiable"

	"github.com/twmb/franz-go/pkg/kgo"
)

func init() {
	later["max.in.flight.requests.per.connection"] = func(o *options) verifiable.Setter {
		own := "MaxProduceRequestsInflightPerBroker"
		return o.inFlight(verifiable.Int(own, adding(o, kgo.MaxProduceRequestsInflightPerBroker)))
	}
}
