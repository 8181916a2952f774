//go:build since_1_21

package main

import "github.com/twmb/franz-go/pkg/kgo"

func init() {
	// An EOF as the first thing on a connection is taken for a wrong configuration unless it is known to be right.
	always = append(always, kgo.AlwaysRetryEOF())
}
