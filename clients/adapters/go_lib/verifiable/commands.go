package verifiable

import (
	"bufio"
	"encoding/json"
	"io"
)

// fields are the commands, and the fields that they require.
var fields = map[string][]string{
	"configure": {"id", "config"},
	"produce":   {"id", "topic", "first", "keys", "values"},
	"flush":     {"id", "timeout_ms"},
	"close":     {"id", "timeout_ms"},
}

type command struct {
	Cmd          string            `json:"cmd"`
	ID           int               `json:"id"`
	Config       Config            `json:"config"`
	ClientConfig map[string]string `json:"client_config"`
	Topic        string            `json:"topic"`
	First        int               `json:"first"`
	Keys         []*string         `json:"keys"`
	Values       []string          `json:"values"`
	Partitions   []int32           `json:"partitions"`
	TimeoutMs    int               `json:"timeout_ms"`
}

// parse returns the command in a line. It returns false if there is none, or if a known one lacks a field.
func parse(line []byte) (command, bool) {
	var has map[string]json.RawMessage
	if json.Unmarshal(line, &has) != nil {
		return command{}, false
	}
	read := command{ID: -1}
	if json.Unmarshal(has["cmd"], &read.Cmd) != nil {
		return command{}, false
	}
	needed, known := fields[read.Cmd]
	if !known {
		_ = json.Unmarshal(has["id"], &read.ID)
		return read, true
	}
	for _, field := range needed {
		if _, there := has[field]; !there {
			return command{}, false
		}
	}
	if json.Unmarshal(line, &read) != nil {
		return command{}, false
	}
	rows := len(read.Values)
	return read, len(read.Keys) == rows && (read.Partitions == nil || len(read.Partitions) == rows)
}

// eachLine calls do with every line of a stream, of any length, until do returns false.
func eachLine(stream io.Reader, do func(line []byte) bool) {
	reader := bufio.NewReader(stream)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 && !do(line) {
			return
		}
		if err != nil {
			return
		}
	}
}
