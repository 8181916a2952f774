"""The live suites: every scenario under every guarantee, against any client, as pytest items.

pytest --pyargs kafka_trial.live --kafka-client 'confluent-kafka@2.16.1' -m must -k dropped
"""
