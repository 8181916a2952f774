// A program whose client does as its setting "mode" says: without one, it acknowledges at once.
package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"adapter/verifiable"
)

func main() { verifiable.Run(&tiny{}) }

type tiny struct {
	mode     verifiable.Value
	failing  failing
	consumer tinyConsumer
}

func (t *tiny) About() verifiable.About {
	return verifiable.About{
		Client:         "tiny",
		ClientVersion:  "1.0.0",
		LibraryVersion: "0.9",
		Language:       "go",
		Features:       []string{"producer", "transactions", "consumer", "group", "seek"},
	}
}

func (t *tiny) Configure(config verifiable.Config) (verifiable.Told, error) {
	t.mode = config["mode"]
	t.failing = newFailing(t.mode)
	switch t.mode {
	case "refuses":
		return verifiable.Told{}, verifiable.Refused(errors.New("not with me"))
	case "errs":
		return verifiable.Told{}, errors.New("a defect")
	case "prints":
		fmt.Println("noise")
	}
	return config.Translate(map[string]verifiable.Setter{
		"absent":   verifiable.Absent("it has none"),
		"choice":   verifiable.OneOf("own.choice", map[string]int{"one": 1}, func(int) {}),
		"duration": verifiable.Duration("own.duration", func(time.Duration) {}),
		"fixed":    verifiable.Fixed(5),
		"int":      verifiable.Int("own.int", func(int) {}),
		"list":     verifiable.List("own.list", func([]string) {}),
		"mode":     verifiable.Text("own.mode", func(string) {}),
		"truth":    verifiable.Bool("own.truth", func(bool) {}),
	}), nil
}

func (t *tiny) Send(record verifiable.Record, result *verifiable.Result) {
	if strings.Contains(string(t.mode), "refuses="+string(record.Value)) {
		result.Fail("REFUSED")
		return
	}
	switch t.mode {
	case "panics":
		panic("beyond me")
	case "holds":
	case "fails":
		result.Fail("TooLarge")
	case "late":
		time.AfterFunc(100*time.Millisecond, func() { result.Info("TimedOut") })
	default:
		partition := int32(len(record.Key))
		if record.Partition != nil {
			partition = *record.Partition
		}
		result.OK(partition, 1<<60)
	}
}

func (t *tiny) Close(context.Context) bool {
	if t.mode == "hangs" {
		select {}
	}
	return t.mode != "holds"
}
