package verifiable

// Taken are the records that one turn takes, by partition, in the order of delivery.
type Taken struct {
	batches []*batch
	places  map[Place]*batch
	count   int
}

// batch is the records of one partition, in the contract's format.
type batch struct {
	Topic        string    `json:"topic"`
	Partition    int32     `json:"partition"`
	Count        int       `json:"count"`
	MinOffset    int64     `json:"minOffset"`
	MaxOffset    int64     `json:"maxOffset"`
	Offsets      []int64   `json:"offsets"`
	Values       []*string `json:"values"`
	Keys         []*string `json:"keys"`
	LeaderEpochs []int32   `json:"leader_epochs,omitempty"`
}

// UnknownEpoch is the leader epoch of a record for which the client does not report it.
const UnknownEpoch int32 = -1

// Add adds one record. Key and value are nil if it has none.
func (t *Taken) Add(place Place, offset int64, key, value []byte, leaderEpoch int32) {
	of := t.places[place]
	if of == nil {
		if t.places == nil {
			t.places = map[Place]*batch{}
		}
		of = &batch{Topic: place.Topic, Partition: place.Partition, MinOffset: offset, MaxOffset: offset}
		t.places[place] = of
		t.batches = append(t.batches, of)
	}
	of.Count++
	of.MinOffset = min(of.MinOffset, offset)
	of.MaxOffset = max(of.MaxOffset, offset)
	of.Offsets = append(of.Offsets, offset)
	of.Keys = append(of.Keys, text(key))
	of.Values = append(of.Values, text(value))
	of.LeaderEpochs = append(of.LeaderEpochs, leaderEpoch)
	t.count++
}

// Count returns the number of records.
func (t *Taken) Count() int { return t.count }

// first returns the positions of the first record of each partition.
func (t *Taken) first() []Position {
	positions := make([]Position, 0, len(t.batches))
	for _, of := range t.batches {
		positions = append(positions, Position{of.Topic, of.Partition, of.Offsets[0]})
	}
	return positions
}

// after returns the positions after the records, which a commit of them commits.
func (t *Taken) after() []Position {
	positions := make([]Position, 0, len(t.batches))
	for _, of := range t.batches {
		positions = append(positions, Position{of.Topic, of.Partition, of.MaxOffset + 1})
	}
	return positions
}

func text(bytes []byte) *string {
	if bytes == nil {
		return nil
	}
	text := string(bytes)
	return &text
}
