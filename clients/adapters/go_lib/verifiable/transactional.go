package verifiable

import "context"

// WayOut is what the client lets the application do after an error of a transaction.
type WayOut int

const (
	// Close the producer, and go on with another one.
	Close WayOut = iota

	// Repeat the same call.
	Repeat

	// Abort the transaction. It is certain that it was not committed.
	Abort

	// AbortUnsure: abort the transaction, although a commit before may have succeeded.
	AbortUnsure
)

// Transactional is an adapter whose client has transactions. It declares the feature transactions. Each call waits at
// most as long as max.block.ms, or as the client's own limit, and less if ctx is done. An error is the client's.
type Transactional interface {
	BeginTransaction(ctx context.Context) error

	CommitTransaction(ctx context.Context) error

	// AbortTransaction aborts, with what the client needs before for the records without a result.
	AbortTransaction(ctx context.Context) error

	// CommitsPartly returns whether the client commits what was stored although other records have failed. The
	// application then waits for the results of all records first, and aborts if one has failed.
	CommitsPartly() bool

	// WayOut returns what the client lets the application do after an error of these calls.
	WayOut(err error) WayOut

	// TransactionError returns the client's own name for an error of these calls.
	TransactionError(err error) string

	// Renew closes the producer without waiting for its records, and builds another one with the same settings.
	Renew()
}

// Initializer is a Transactional whose client has a call that prepares a producer for transactions.
type Initializer interface {
	InitTransactions(ctx context.Context) error
}
