module adapter

go 1.23

require github.com/confluentinc/confluent-kafka-go/v2 v2.6.1
