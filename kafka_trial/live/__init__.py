"""The live suites under their public name.

pytest --pyargs kafka_trial.live --kafka-client 'confluent-kafka@2.16.1' -m must -k dropped
"""
