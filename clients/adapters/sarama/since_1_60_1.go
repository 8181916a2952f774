//go:build since_1_60_1

package main

import "github.com/IBM/sarama"

func init() {
	cooperativeSticky = func() sarama.BalanceStrategy { return sarama.NewBalanceStrategyCooperativeSticky() }
}
