package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Options of kgo that take one number or one duration, by their names, as far as every version has them. The others
// take functions or several values.
var (
	ownCounts = map[string]func(int) kgo.Opt{
		"BrokerMaxReadBytes":  func(n int) kgo.Opt { return kgo.BrokerMaxReadBytes(int32(n)) },
		"BrokerMaxWriteBytes": func(n int) kgo.Opt { return kgo.BrokerMaxWriteBytes(int32(n)) },
		"MaxBufferedRecords":  func(n int) kgo.Opt { return kgo.MaxBufferedRecords(n) },
		"RequestRetries":      func(n int) kgo.Opt { return kgo.RequestRetries(n) },
	}
	ownDurations = map[string]func(time.Duration) kgo.Opt{
		"ConnIdleTimeout": func(d time.Duration) kgo.Opt { return kgo.ConnIdleTimeout(d) },
		"RetryTimeout":    func(d time.Duration) kgo.Opt { return kgo.RetryTimeout(d) },
	}
)

// ownOption returns the option with this name and value.
func ownOption(name, value string) (kgo.Opt, error) {
	if option, known := ownCounts[name]; known {
		number, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%q is not a whole number", value)
		}
		return option(int(number)), nil
	}
	if option, known := ownDurations[name]; known {
		duration, err := time.ParseDuration(value)
		if err != nil {
			return nil, fmt.Errorf("%q is not a duration, such as 50ms", value)
		}
		return option(duration), nil
	}
	return nil, fmt.Errorf("the adapter cannot give this option as text")
}
