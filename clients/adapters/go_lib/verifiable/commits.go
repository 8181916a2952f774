package verifiable

import (
	"sort"
	"sync"
)

// commits are what a member processed, and its commits. Partitions are given up in any goroutine.
type commits struct {
	consumer  ConsumerAdapter
	output    *output
	mutex     sync.Mutex
	processed map[Place]Position
}

func newCommits(consumer ConsumerAdapter, output *output) *commits {
	return &commits{consumer: consumer, output: output, processed: map[Place]Position{}}
}

// done records that the records before these positions were processed.
func (c *commits) done(positions []Position) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, position := range positions {
		c.processed[position.Place()] = position
	}
}

// forget leaves nothing to commit of partitions that were given up, or whose position was set.
func (c *commits) forget(partitions []Place) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, place := range partitions {
		delete(c.processed, place)
	}
}

func (c *commits) forgetAll() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	clear(c.processed)
}

// all returns the positions after everything that was processed.
func (c *commits) all() []Position {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	all := make([]Position, 0, len(c.processed))
	for _, position := range c.processed {
		all = append(all, position)
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i], all[j]
		return a.Topic < b.Topic || (a.Topic == b.Topic && a.Partition < b.Partition)
	})
	return all
}

// commit commits "sync" or "async", and reports the result.
func (c *commits) commit(how string, offsets []Position) error {
	invokeNs := monoNs()
	report := func(err error) {
		name := ""
		if err != nil {
			name, _ = c.consumer.ErrorName(err)
		}
		c.output.event("offsets_committed", committed(offsets, how, invokeNs, monoNs(), name))
	}
	if how == "async" {
		return c.consumer.CommitAsync(offsets, report)
	}
	err := c.consumer.Commit(offsets)
	if err != ErrUnsupported {
		report(err)
	}
	return err
}
