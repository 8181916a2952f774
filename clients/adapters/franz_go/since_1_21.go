//go:build since_1_21

package main

import "github.com/twmb/franz-go/pkg/kgo"

func init() {
	// Without this option, an EOF as the first event on a connection counts as a configuration error.
	always = append(always, kgo.AlwaysRetryEOF())
}
