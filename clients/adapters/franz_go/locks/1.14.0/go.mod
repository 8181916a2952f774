module adapter

go 1.23

require github.com/twmb/franz-go v1.14.0

require (
	github.com/klauspost/compress v1.16.7 // indirect
	github.com/pierrec/lz4/v4 v4.1.18 // indirect
	github.com/twmb/franz-go/pkg/kmsg v1.6.1 // indirect
)
