//go:build since_1_6

package main

import "github.com/twmb/franz-go/pkg/kgo"

func init() {
	defaultPartitioner = func() kgo.Partitioner { return kgo.UniformBytesPartitioner(64<<10, true, true, nil) }
}
