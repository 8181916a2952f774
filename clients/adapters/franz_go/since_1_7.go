//go:build since_1_7

package main

import "github.com/twmb/franz-go/pkg/kgo"

func init() {
	membership = func(client *kgo.Client) (string, int32) { return client.GroupMetadata() }
	resets["none"] = kgo.NoResetOffset() // from 1.5 on it also applies to where a partition begins
}
