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
	results  sink
	id       int
	record   int
	invokeNs int64
}

// sink takes the results of records.
type sink interface {
	add(result *Result, outcome string, err *string, partition int32, offset int64)
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

// answering is the command that results belong to, by its operation and id.
type answering struct {
	op string
	id int
}

// results groups the results of sends into columns: one line per command, every 20 ms or 500 rows.
type results struct {
	output *output
	mutex  sync.Mutex
	sent   int
	count  int
	rows   map[answering]*columns
}

func newResults(output *output) *results {
	return &results{output: output, rows: map[answering]*columns{}}
}

func (r *results) expect(id, record int) *Result {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.sent++
	return &Result{results: r, id: id, record: record, invokeNs: monoNs()}
}

// expectAll counts records whose results put reports.
func (r *results) expectAll(count int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.sent += count
}

func (r *results) add(result *Result, outcome string, err *string, partition int32, offset int64) {
	r.put(answering{"send", result.id}, result, outcome, err, place{partition, offset})
}

// put stores the row of one record. It is written later, or now if its line is full.
func (r *results) put(to answering, result *Result, outcome string, err *string, at place) {
	completeNs := monoNs()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.count++
	rows := r.rows[to]
	if rows == nil {
		rows = &columns{Op: to.op, ID: to.id}
		r.rows[to] = rows
	}
	rows.Outcome = append(rows.Outcome, outcome)
	rows.Error = append(rows.Error, err)
	rows.InvokeNs = append(rows.InvokeNs, result.invokeNs)
	rows.CompleteNs = append(rows.CompleteNs, completeNs)
	rows.Records = append(rows.Records, result.record)
	rows.Partition = append(rows.Partition, at.partition)
	rows.Offset = append(rows.Offset, at.offset)
	if len(rows.Outcome) >= resultsMaxRows {
		r.writeRows(to)
	}
}

// write writes all stored rows.
func (r *results) write() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for to := range r.rows {
		r.writeRows(to)
	}
}

func (r *results) writeRows(to answering) {
	r.output.event("op_complete", r.rows[to])
	delete(r.rows, to)
}

func (r *results) counts() (sent, completed int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.sent, r.count
}

// Flush waits until every record that was sent has its result. It returns false if ctx is done first.
func (r *results) Flush(ctx context.Context) bool {
	return waited(ctx, func() bool {
		sent, completed := r.counts()
		return completed >= sent
	})
}
