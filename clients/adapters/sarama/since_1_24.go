//go:build since_1_24

package main

import "github.com/IBM/sarama"

// Before, zstd needed cgo, without which this program is built.
func init() { codecs["zstd"] = sarama.CompressionZSTD }
