package verifiable

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	contractVersion = 2
	resultsInterval = 20 * time.Millisecond
	statsInterval   = time.Second
	queuedCommands  = 1 << 16

	// unaskedCloseMs is the timeout of a close without a command: end of stdin, SIGTERM, SIGINT.
	unaskedCloseMs = 5_000

	// closeGrace is how long after its timeout a close may still return before it is abandoned.
	closeGrace = 500 * time.Millisecond
)

// program is the lifecycle of one client process: startup, configure, produce and flush, close.
//
// One goroutine reads commands, one executes them (only it calls the adapter), and one writes results and the
// heartbeat, so that a client stuck in a call still sends it.
type program struct {
	adapter    Adapter
	output     *output
	results    *results
	commands   chan command
	configured bool
	transactor *transactor
	loop       atomic.Pointer[pollLoop] // the application of a consumer
	hurried    context.Context          // done after a signal: queued commands are not started
	hurry      context.CancelFunc
}

// Run runs the process of one adapter, and exits.
func Run(adapter Adapter) {
	output, err := newOutput()
	if err != nil {
		fmt.Fprintln(os.Stderr, "stdout cannot be redirected:", err)
		os.Exit(1)
	}
	p := &program{
		adapter:  adapter,
		output:   output,
		results:  newResults(output),
		commands: make(chan command, queuedCommands),
	}
	p.hurried, p.hurry = context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	defer p.fatalIfPanicking()
	p.introduce(adapter.About())
	go p.obeySignals(signals)
	go p.read()
	go p.beat()
	p.obey()
}

func (p *program) introduce(about About) {
	fields := map[string]any{
		"client":           about.Client,
		"client_version":   about.ClientVersion,
		"library_version":  nil,
		"language":         about.Language,
		"features":         about.Features,
		"contract_version": contractVersion,
	}
	if about.LibraryVersion != "" {
		fields["library_version"] = about.LibraryVersion
	}
	p.output.event("startup_complete", fields)
}

func (p *program) obey() {
	handlers := map[string]func(command){
		"configure": p.configure,
		"produce":   p.produce,
		"flush":     p.flush,
		"close":     p.close,
	}
	if client, can := p.adapter.(Transactional); can {
		p.transactor = &transactor{adapter: p.adapter, client: client, output: p.output, hurried: p.hurried}
		handlers["transact"] = p.transact
	}
	for next := range p.commands {
		handle, known := handlers[next.Cmd]
		if next.consume != nil {
			p.consume(*next.consume)
		} else if !known {
			p.unsupported(next.Cmd, next.ID)
		} else if next.Cmd == "close" || p.hurried.Err() == nil {
			handle(next)
		}
	}
}

func (p *program) configure(asked command) {
	if p.configured {
		p.fatal("AdapterError", "configured twice", 1)
	}
	if asked.Role == "consumer" {
		p.configureConsumer(asked)
		return
	}
	if taker, can := p.adapter.(OwnTaker); can {
		taker.TakeOwn(asked.ClientConfig)
	}
	told, err := p.adapter.Configure(asked.Config)
	p.told(asked.ID, told, err)
}

func (p *program) configureConsumer(asked command) {
	adapter, can := p.adapter.(Consuming)
	if !can {
		p.unsupported(asked.Cmd, asked.ID)
		return
	}
	loop := newPollLoop(p, adapter.Consumer())
	told, err := adapter.Consumer().Configure(asked.Config, asked.ClientConfig, loop.listener)
	p.told(asked.ID, told, err)
	p.loop.Store(loop)
	go func() {
		defer p.fatalIfPanicking()
		loop.run()
	}()
}

// told reports how the client was configured.
func (p *program) told(id int, told Told, err error) {
	if isRefused(err) {
		p.fatal("ConfigRefused", err.Error(), 1)
	}
	if err != nil {
		p.fatal("AdapterError", err.Error(), 1)
	}
	p.configured = true
	fields := map[string]any{"id": id, "applied": told.Applied, "not_set": told.NotSet}
	if told.ClientNotSet != nil {
		fields["client_not_set"] = told.ClientNotSet
	}
	p.output.event("configured", fields)
}

// consume passes a command to the application that consumes.
func (p *program) consume(asked consumerCommand) {
	if loop := p.loop.Load(); loop != nil {
		loop.add(asked)
	} else {
		p.unsupported(asked.Cmd, asked.ID)
	}
}

func (p *program) unsupported(cmd string, id int) {
	p.output.event("unsupported", map[string]any{"cmd": cmd, "id": id})
}

func (p *program) produce(asked command) {
	p.mustBeConfigured("produce")
	if p.loop.Load() != nil {
		p.unsupported(asked.Cmd, asked.ID)
		return
	}
	p.output.event("op_invoke", map[string]any{
		"op": "send", "id": asked.ID, "first": asked.First, "count": len(asked.Values),
	})
	for index := range asked.Values {
		p.adapter.Send(asked.record(index), p.results.expect(asked.ID, asked.First+index))
	}
}

func (p *program) transact(asked command) {
	p.mustBeConfigured("transact")
	if p.loop.Load() != nil {
		p.unsupported(asked.Cmd, asked.ID)
		return
	}
	count := len(asked.Values)
	p.output.event("op_invoke", map[string]any{
		"op": "transact", "id": asked.ID, "first": asked.First, "count": count,
	})
	p.results.expectAll(count)
	invokeNs, sent := monoNs(), newSent()
	outcome, failed := p.transactor.transact(asked, sent)
	var err *string
	if failed != "" {
		err = &failed
	}
	for n := asked.First; n < asked.First+count; n++ {
		of := &Result{record: n, invokeNs: invokeNs}
		p.results.put(answering{"transact", asked.ID}, of, outcome, err, sent.place(n))
	}
}

func (p *program) flush(asked command) {
	p.mustBeConfigured("flush")
	invokeNs := p.invoke("flush", asked.ID)
	ctx, cancel := context.WithTimeout(p.hurried, time.Duration(asked.TimeoutMs)*time.Millisecond)
	defer cancel()
	flusher, can := p.adapter.(Flusher)
	if !can {
		flusher = p.results
	}
	p.complete("flush", asked.ID, invokeNs, flusher.Flush(ctx))
}

func (p *program) close(asked command) {
	invokeNs := p.invoke("close", asked.ID)
	done := !p.configured || p.closed(time.Duration(asked.TimeoutMs)*time.Millisecond)
	p.complete("close", asked.ID, invokeNs, done)
	p.output.last("shutdown_complete", map[string]any{})
	os.Exit(0)
}

// closed closes the client, and abandons it if it does not return in time.
func (p *program) closed(timeout time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	done := make(chan bool, 1)
	go func() {
		defer p.fatalIfPanicking()
		if loop := p.loop.Load(); loop != nil {
			done <- loop.close(ctx)
		} else {
			done <- p.adapter.Close(ctx)
		}
	}()
	select {
	case all := <-done:
		return all
	case <-time.After(timeout + closeGrace):
		fmt.Fprintln(os.Stderr, "the client did not return from close")
		return false
	}
}

func (p *program) invoke(op string, id int) int64 {
	p.output.event("op_invoke", map[string]any{"op": op, "id": id})
	return monoNs()
}

func (p *program) complete(op string, id int, invokeNs int64, done bool) {
	why := ""
	if !done {
		why = "the client is not done"
	}
	p.results.write()
	p.answer(op, id, invokeNs, why)
}

// answer writes the one result of a command. Without an error, it is ok.
func (p *program) answer(op string, id int, invokeNs int64, err string) {
	row := &columns{Op: op, ID: id, Outcome: []string{"ok"}, Error: []*string{nil}}
	row.InvokeNs, row.CompleteNs = []int64{invokeNs}, []int64{monoNs()}
	if err != "" {
		row.Outcome, row.Error = []string{"fail"}, []*string{&err}
	}
	p.output.event("op_complete", row)
}

func (p *program) mustBeConfigured(cmd string) {
	if !p.configured {
		p.fatal("AdapterError", cmd+" before configure", 1)
	}
}

func (p *program) beat() {
	nextStats := time.Now().Add(statsInterval)
	for range time.Tick(resultsInterval) {
		p.results.write()
		if now := time.Now(); !now.Before(nextStats) {
			nextStats = now.Add(statsInterval)
			sent, completed := p.results.counts()
			p.output.event("stats", map[string]any{"sent": sent, "completed": completed})
		}
	}
}

func (p *program) read() {
	eachLine(os.Stdin, func(line []byte) bool {
		next, ok := parse(line)
		if !ok {
			p.fatal("BadCommand", fmt.Sprintf("not a command: %.200s", line), 2)
		}
		if next.Cmd == "wakeup" {
			p.consume(*next.consume) // the other goroutine may be what it wakes up
		} else {
			p.commands <- next
		}
		return true
	})
	p.commands <- unaskedClose()
}

func (p *program) obeySignals(signals <-chan os.Signal) {
	for range signals {
		p.hurry()
		p.commands <- unaskedClose()
	}
}

func unaskedClose() command { return command{Cmd: "close", ID: -1, TimeoutMs: unaskedCloseMs} }

func (p *program) fatalIfPanicking() {
	if reason := recover(); reason != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", reason, debug.Stack())
		p.fatal("AdapterError", fmt.Sprint(reason), 1)
	}
}

// fatal reports a fatal error and exits at once, because the client's goroutines may not be stoppable.
func (p *program) fatal(name, message string, code int) {
	p.results.write()
	p.output.last("fatal", map[string]any{"error": name, "message": message})
	os.Exit(code)
}
