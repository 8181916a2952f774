package verifiable

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"syscall"
)

// output writes events, numbered without gaps, to a private copy of stdout. All other output goes to stderr.
type output struct {
	mutex sync.Mutex
	file  *os.File
	seq   int
	ended bool
}

func newOutput() (*output, error) {
	private, err := syscall.Dup(1)
	if err != nil {
		return nil, err
	}
	syscall.CloseOnExec(private)
	if err := syscall.Dup3(2, 1, 0); err != nil {
		return nil, err
	}
	return &output{file: os.NewFile(uintptr(private), "events")}, nil
}

// event writes one event, with the fields of a struct or a map.
func (o *output) event(name string, fields any) { o.write(name, fields, false) }

// last writes the last event. Nothing is written after it.
func (o *output) last(name string, fields any) { o.write(name, fields, true) }

func (o *output) write(name string, fields any, last bool) {
	written, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.ended {
		return
	}
	o.ended = last
	line := fmt.Appendf(nil, `{"name":%q,"seq":%d,"mono_ns":%d,"wall_ns":%d`, name, o.seq, monoNs(), wallNs())
	if len(written) > len("{}") {
		line = append(append(line, ','), written[1:]...)
	} else {
		line = append(line, '}')
	}
	if _, err := o.file.Write(append(line, '\n')); err != nil {
		os.Exit(1) // the harness has exited, so nothing reads the events
	}
	o.seq++
}
