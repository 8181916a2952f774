package verifiable

import "context"

// Handover turns records that a client gives in goroutines of its own, such as one for each partition, into the turns
// of one poll loop. A goroutine that hands records over continues once they are worked on.
type Handover struct {
	most    int
	batches chan handed
	working []chan struct{}
	errors  chan error
}

type handed struct {
	add  func(*Taken)
	done chan struct{}
}

// mostErrors is how many errors wait for the application.
const mostErrors = 1 << 10

// NewHandover makes one whose turns take no more once they have most records.
func NewHandover(most int) *Handover {
	return &Handover{most: most, batches: make(chan handed), errors: make(chan error, mostErrors)}
}

// Most returns how many records a turn should take.
func (h *Handover) Most() int { return h.most }

// Hand gives records to the application, and returns true once it has worked on them. It gives up with ctx, or when
// interrupt, which may be nil, can be received from.
func (h *Handover) Hand(ctx context.Context, interrupt <-chan struct{}, add func(*Taken)) bool {
	batch := handed{add, make(chan struct{})}
	select {
	case h.batches <- batch:
		<-batch.done
		return true
	case <-interrupt:
	case <-ctx.Done():
	}
	return false
}

// Fail passes an error on to the application. It is left out if too many wait.
func (h *Handover) Fail(err error) {
	select {
	case h.errors <- err:
	default:
	}
}

// Poll is that of a [ConsumerAdapter].
func (h *Handover) Poll(ctx context.Context, taken *Taken) error {
	h.Release()
	select {
	case <-ctx.Done():
		return nil
	case err := <-h.errors:
		return err
	case batch := <-h.batches:
		h.take(batch, taken)
	}
	for taken.Count() < h.most {
		select {
		case batch := <-h.batches:
			h.take(batch, taken)
		default:
			return nil
		}
	}
	return nil
}

func (h *Handover) take(batch handed, taken *Taken) {
	h.working = append(h.working, batch.done)
	batch.add(taken)
}

// Release lets the goroutines continue whose records were worked on: when the application will not poll again.
func (h *Handover) Release() {
	for _, done := range h.working {
		close(done)
	}
	h.working = nil
}
