// Package verifiable is the client's half of the contract for Go programs: commands come on stdin, events go to
// stdout. It uses the standard library only. A program supplies an [Adapter]; [Run] does the rest.
package verifiable

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"
)

// About is how a program introduces itself. ClientVersion is what really runs, LibraryVersion what it wraps, if
// anything.
type About struct {
	Client         string
	ClientVersion  string
	LibraryVersion string
	Language       string
	Features       []string
}

// Record is one record that is to be sent. Key is nil for a record without one, Partition where the client chooses.
type Record struct {
	Topic     string
	Key       []byte
	Value     []byte
	Partition *int32
}

// Adapter is one client as the contract sees it. A panic in a method is fatal: it is the adapter's defect.
type Adapter interface {
	// About may be called before anything else, and must not take time.
	About() About

	// Configure builds the client from settings in the Java names and tells what became of each of them. An error
	// made by Refused says that the client itself refuses them; any other is a defect of the adapter.
	Configure(config Config) (Told, error)

	// Send hands one record to the client; result is to be given once, now or later, by any goroutine.
	Send(record Record, result *Result)

	// Close closes the client before ctx is done; true if it says that every record has a result.
	Close(ctx context.Context) bool
}

// Flusher is an adapter whose client can flush. Where it cannot, a flush waits until every record has its result.
type Flusher interface {
	// Flush has the client flush until ctx is done; true if it says that all is done. Its word is passed on, true or
	// not: whether all records have results then is for the harness to see.
	Flush(ctx context.Context) bool
}

type refused struct{ error }

// Refused marks an error of the client as its refusal of the settings it was given.
func Refused(err error) error { return refused{err} }

func isRefused(err error) bool { return errors.As(err, &refused{}) }

// ModuleVersion is the version of a module that this program was built with, without the leading v.
func ModuleVersion(path string) string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, module := range build.Deps {
		if module.Path == path {
			return strings.TrimPrefix(module.Version, "v")
		}
	}
	return ""
}

// Cause is the innermost error of a chain, as text: the client's and the system's own words, without the addresses
// and numbers that each layer puts around them.
func Cause(err error) string {
	for {
		switch wrapping := err.(type) {
		case interface{ Unwrap() error }:
			inner := wrapping.Unwrap()
			if inner == nil {
				return err.Error()
			}
			err = inner
		case interface{ Unwrap() []error }:
			inner := wrapping.Unwrap()
			if len(inner) == 0 {
				return err.Error()
			}
			err = inner[0]
		default:
			return err.Error()
		}
	}
}
