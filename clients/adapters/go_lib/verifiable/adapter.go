// Package verifiable is the client's side of the contract for Go programs: commands arrive on stdin, events go to
// stdout. It uses only the standard library. A program supplies an [Adapter], and [Run] does the rest.
package verifiable

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"
)

// About identifies a program. ClientVersion is the version that actually runs, LibraryVersion that of a wrapped
// library, if there is one.
type About struct {
	Client         string
	ClientVersion  string
	LibraryVersion string
	Language       string
	Features       []string
}

// Record is one record to send. Key is nil for a record without one. If Partition is nil, the client chooses.
type Record struct {
	Topic     string
	Key       []byte
	Value     []byte
	Partition *int32
}

// Adapter is one client, as the contract defines it. A panic in a method is fatal: a defect of the adapter.
type Adapter interface {
	// About may be called before anything else, and must return quickly.
	About() About

	// Configure builds the client from settings in the Java names and reports which were applied. An error made by
	// Refused means that the client itself rejects them. Any other error is a defect of the adapter.
	Configure(config Config) (Told, error)

	// Send passes one record to the client. Give its result once, now or later, from any goroutine.
	Send(record Record, result *Result)

	// Close closes the client before ctx is done. It returns true if the client reports that every record has a result.
	Close(ctx context.Context) bool
}

// OwnTaker is an adapter that takes settings under the client's own names. It declares the feature client_config, and
// reports those that it does not apply in ClientNotSet of [Told].
type OwnTaker interface {
	// TakeOwn is called before Configure.
	TakeOwn(own map[string]string)
}

// Flusher is an adapter whose client can flush. For other clients a flush waits until every record has its result.
type Flusher interface {
	// Flush flushes the client until ctx is done. It returns true if the client reports that it is done. The answer is
	// passed on unchecked: the harness determines whether all records have results then.
	Flush(ctx context.Context) bool
}

type refused struct{ error }

// Refused marks an error as the client's rejection of the settings.
func Refused(err error) error { return refused{err} }

func isRefused(err error) bool { return errors.As(err, &refused{}) }

// ModuleVersion returns the version of a module that this program was built with, without the leading v.
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

// Cause returns the innermost error of a chain, as text: the client's or the system's message, without the addresses
// and numbers that each layer adds.
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
