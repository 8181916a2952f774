//go:build since_1_15

package main

import (
	"adapter/verifiable"

	"github.com/twmb/franz-go/pkg/kgo"
)

func init() {
	later["buffer.memory"] = func(o *options) verifiable.Setter {
		return verifiable.Int("MaxBufferedBytes", adding(o, kgo.MaxBufferedBytes))
	}
}
