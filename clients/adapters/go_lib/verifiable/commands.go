package verifiable

import (
	"bufio"
	"encoding/json"
	"io"
	"time"
)

// fields are the commands, and the fields that they require.
var fields = map[string][]string{
	"configure": {"id", "config"},
	"produce":   {"id", "topic", "first", "keys", "values"},
	"transact":  {"id", "topic", "first", "keys", "values", "end", "flush"},
	"flush":     {"id", "timeout_ms"},
	"close":     {"id", "timeout_ms"},
}

// consumerFields are the commands to a consumer, and the fields that they require.
var consumerFields = map[string][]string{
	"subscribe":   {"id"},
	"assign":      {"id", "partitions"},
	"unsubscribe": {"id"},
	"seek":        {"id", "position"},
	"pause":       {"id", "partitions"},
	"resume":      {"id", "partitions"},
	"commit":      {"id"},
	"process":     {"id", "processing_ms"},
	"throw":       {"id", "callback"},
	"wakeup":      {"id"},
}

type command struct {
	Cmd          string            `json:"cmd"`
	ID           int               `json:"id"`
	Role         string            `json:"role"`
	Config       Config            `json:"config"`
	ClientConfig map[string]string `json:"client_config"`
	Topic        string            `json:"topic"`
	First        int               `json:"first"`
	Keys         []*string         `json:"keys"`
	Values       []string          `json:"values"`
	Partitions   []int32           `json:"partitions"`
	End          string            `json:"end"`
	Flush        bool              `json:"flush"`
	TimeoutMs    int               `json:"timeout_ms"`

	consume *consumerCommand
}

// record returns one of the records to send.
func (c command) record(index int) Record {
	record := Record{Topic: c.Topic, Value: []byte(c.Values[index])}
	if key := c.Keys[index]; key != nil {
		record.Key = []byte(*key)
	}
	if c.Partitions != nil {
		record.Partition = &c.Partitions[index]
	}
	return record
}

// consumerCommand is a call of the application that consumes. A partition without an offset has none.
type consumerCommand struct {
	Cmd          string     `json:"cmd"`
	ID           int        `json:"id"`
	Topics       []string   `json:"topics"`
	Pattern      string     `json:"pattern"`
	Partitions   []Position `json:"partitions"`
	Position     *Position  `json:"position"`
	Commit       string     `json:"commit"`
	ProcessingMs int        `json:"processing_ms"`
	How          string     `json:"how"`
	Callback     string     `json:"callback"`
	Times        int        `json:"times"`
}

func (c consumerCommand) processing() time.Duration {
	return time.Duration(c.ProcessingMs) * time.Millisecond
}

func (c consumerCommand) places() []Place {
	places := make([]Place, 0, len(c.Partitions))
	for _, position := range c.Partitions {
		places = append(places, position.Place())
	}
	return places
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
	if needed, isConsumers := consumerFields[read.Cmd]; isConsumers {
		asked := consumerCommand{Commit: "none", How: "sync", Times: 1}
		ok := hasAll(has, needed) && json.Unmarshal(line, &asked) == nil
		read.ID, read.consume = asked.ID, &asked
		return read, ok
	}
	needed, known := fields[read.Cmd]
	if !known {
		_ = json.Unmarshal(has["id"], &read.ID)
		return read, true
	}
	if !hasAll(has, needed) || json.Unmarshal(line, &read) != nil {
		return command{}, false
	}
	rows := len(read.Values)
	return read, len(read.Keys) == rows && (read.Partitions == nil || len(read.Partitions) == rows)
}

func hasAll(has map[string]json.RawMessage, needed []string) bool {
	for _, field := range needed {
		if _, there := has[field]; !there {
			return false
		}
	}
	return true
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
