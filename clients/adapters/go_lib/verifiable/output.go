package verifiable

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"syscall"
)

// output writes events, numbered without a gap, on a private copy of stdout; whatever else prints goes to stderr.
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

// last writes an event that nothing may follow.
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
		os.Exit(1) // the harness is gone, and with it everybody who could be told
	}
	o.seq++
}
