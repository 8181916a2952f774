module adapter

go 1.23

require github.com/confluentinc/confluent-kafka-go v1.9.2
