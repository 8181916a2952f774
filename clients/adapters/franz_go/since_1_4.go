//go:build since_1_4

package main

import (
	"adapter/verifiable"

	"github.com/twmb/franz-go/pkg/kgo"
)

func init() {
	later["max.in.flight.requests.per.connection"] = func(o *options) verifiable.Setter {
		if o.idempotent {
			return verifiable.Absent("with idempotence it is 5")
		}
		return verifiable.Int("MaxProduceRequestsInflightPerBroker", adding(o, kgo.MaxProduceRequestsInflightPerBroker))
	}
}
