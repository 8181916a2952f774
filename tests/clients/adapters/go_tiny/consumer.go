package main

import (
	"context"
	"errors"

	"adapter/verifiable"
)

// tinyConsumer has three records of each of two partitions. Its first commit fails. In mode "cannot seek" it has no
// seek.
type tinyConsumer struct {
	mode   verifiable.Value
	next   [2]int64
	failed bool
}

const end = 3

func (t *tiny) Consumer() verifiable.ConsumerAdapter { return &t.consumer }

func (c *tinyConsumer) Configure(
	config verifiable.Config, _ map[string]string, _ *verifiable.Listener,
) (verifiable.Told, error) {
	return config.Translate(map[string]verifiable.Setter{"mode": verifiable.Text("own.mode", func(mode string) { c.mode = verifiable.Value(mode) })}), nil
}

func (c *tinyConsumer) Subscribe([]string, string, string) error   { return nil }
func (c *tinyConsumer) Assign([]verifiable.Position, string) error { return verifiable.ErrUnsupported }
func (c *tinyConsumer) Unsubscribe() error                         { return nil }
func (c *tinyConsumer) Pause([]verifiable.Place) error             { return verifiable.ErrUnsupported }
func (c *tinyConsumer) Resume([]verifiable.Place) error            { return verifiable.ErrUnsupported }
func (c *tinyConsumer) CommitAsync([]verifiable.Position, func(error)) error {
	return verifiable.ErrUnsupported
}
func (c *tinyConsumer) Close(context.Context) bool          { return true }
func (c *tinyConsumer) ErrorName(err error) (string, *bool) { return err.Error(), nil }
func (c *tinyConsumer) Abilities() verifiable.Abilities     { return verifiable.Abilities{} }

func (c *tinyConsumer) Seek(position verifiable.Position) error {
	if c.mode == "cannot seek" {
		return verifiable.ErrUnsupported
	}
	c.next[position.Partition] = position.Offset
	return nil
}

// Poll takes two records of each partition.
func (c *tinyConsumer) Poll(ctx context.Context, taken *verifiable.Taken) error {
	for partition := range c.next {
		for range 2 {
			if c.next[partition] < end {
				place := verifiable.Place{Topic: "t", Partition: int32(partition)}
				taken.Add(place, c.next[partition], nil, nil, verifiable.UnknownEpoch)
				c.next[partition]++
			}
		}
	}
	if taken.Count() == 0 {
		<-ctx.Done()
	}
	return nil
}

func (c *tinyConsumer) Commit([]verifiable.Position) error {
	if !c.failed {
		c.failed = true
		return errors.New("Unlucky")
	}
	return nil
}
