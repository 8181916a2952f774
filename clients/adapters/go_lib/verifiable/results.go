package verifiable

import (
	"context"
	"sync"
	"time"
)

const (
	resultsMaxRows = 500
	owedInterval   = 5 * time.Millisecond
)

// Result receives the result of one record. It is created just before the record is passed to the client.
type Result struct {
	results  *results
	id       int
	record   int
	invokeNs int64
}

// OK records that the record was certainly written. The offset is -1 if the client does not know it.
func (r *Result) OK(partition int32, offset int64) { r.put("ok", nil, partition, offset) }

// Fail records that the record was certainly not written, and never will be.
func (r *Result) Fail(err string) { r.put("fail", &err, -1, -1) }

// Info records that the client gave up. It is unknown whether the record was written.
func (r *Result) Info(err string) { r.put("info", &err, -1, -1) }

func (r *Result) put(outcome string, err *string, partition int32, offset int64) {
	r.results.add(r, outcome, err, partition, offset)
}

// columns are the results of one command, in the contract's format.
type columns struct {
	Op         string    `json:"op"`
	ID         int       `json:"id"`
	Outcome    []string  `json:"outcome"`
	Error      []*string `json:"error"`
	InvokeNs   []int64   `json:"invoke_ns"`
	CompleteNs []int64   `json:"complete_ns"`
	Records    []int     `json:"records,omitempty"`
	Partition  []int32   `json:"partition,omitempty"`
	Offset     []int64   `json:"offset,omitempty"`
}

// results groups the results of sends into columns: one line per command, every 20 ms or 500 rows.
type results struct {
	output *output
	mutex  sync.Mutex
	sent   int
	count  int
	rows   map[int]*columns
}

func newResults(output *output) *results {
	return &results{output: output, rows: map[int]*columns{}}
}

func (r *results) expect(id, record int) *Result {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.sent++
	return &Result{results: r, id: id, record: record, invokeNs: monoNs()}
}

func (r *results) add(result *Result, outcome string, err *string, partition int32, offset int64) {
	completeNs := monoNs()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.count++
	rows := r.rows[result.id]
	if rows == nil {
		rows = &columns{Op: "send", ID: result.id}
		r.rows[result.id] = rows
	}
	rows.Outcome = append(rows.Outcome, outcome)
	rows.Error = append(rows.Error, err)
	rows.InvokeNs = append(rows.InvokeNs, result.invokeNs)
	rows.CompleteNs = append(rows.CompleteNs, completeNs)
	rows.Records = append(rows.Records, result.record)
	rows.Partition = append(rows.Partition, partition)
	rows.Offset = append(rows.Offset, offset)
	if len(rows.Outcome) >= resultsMaxRows {
		r.writeRows(result.id)
	}
}

// write writes all stored rows.
func (r *results) write() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for id := range r.rows {
		r.writeRows(id)
	}
}

func (r *results) writeRows(id int) {
	r.output.event("op_complete", r.rows[id])
	delete(r.rows, id)
}

func (r *results) counts() (sent, completed int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.sent, r.count
}

// Flush waits until every record that was sent has its result. It returns false if ctx is done first.
func (r *results) Flush(ctx context.Context) bool {
	for {
		if sent, completed := r.counts(); completed >= sent {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(owedInterval):
		}
	}
}
