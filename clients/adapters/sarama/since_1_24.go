//go:build since_1_24

package main

import "github.com/IBM/sarama"

func init() {
	codecs["zstd"] = sarama.CompressionZSTD // earlier versions need cgo for it, and this program is built without it
	strategies["sticky"] = sarama.BalanceStrategySticky
}
