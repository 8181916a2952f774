//go:build since_1_22

package main

import "github.com/twmb/franz-go/pkg/kgo"

func init() {
	serverSide = func() kgo.Opt { return kgo.ServerSideBalancer() }
}
