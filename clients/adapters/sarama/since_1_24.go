//go:build since_1_24

package main

import "github.com/IBM/sarama"

// Earlier versions need cgo for zstd, and this program is built without it.
func init() { codecs["zstd"] = sarama.CompressionZSTD }
