"""CLI-CFG: the settings that a client accepts, and the rules between them."""

from __future__ import annotations

from suites.requirements.behaviour import Group, must, should

CONFIGURATION = Group(
    "CLI-CFG",
    "Configuration",
    (
        should(
            "CLI-CFG-01",
            "Idempotence that was set explicitly refuses acks other than all, zero retries, and more than five "
            "requests in flight.",
            "ProducerConfig",
            "clients/reference/config/producer_config.py: _settle_idempotence",
        ),
        should(
            "CLI-CFG-02",
            "Idempotence by default gives way to acks and retries that contradict it. More than five requests in "
            "flight switch it off before 4.0 and are refused since.",
            "ProducerConfig",
            "clients/reference/config/producer_config.py: _settle_idempotence",
            "clients/reference/config/producer_config.py: CHANGES",
        ),
        should(
            "CLI-CFG-03",
            "A transactional.id requires idempotence, and is the default for client.id.",
            "ProducerConfig",
            "clients/reference/config/producer_config.py: _settle_transactions",
            "clients/reference/config/producer_config.py: _settle_client_id",
        ),
        must(
            "CLI-CFG-04",
            "heartbeat.interval.ms is less than session.timeout.ms, and the broker refuses session timeouts outside "
            "its bounds.",
            "KIP-735; Heartbeat, GroupCoordinatorConfig",
            "clients/reference/config/consumer_config.py: _settle_heartbeat",
        ),
        should(
            "CLI-CFG-05",
            "Without a group.id, subscribing and committing are not allowed, and auto-commit is off or an error.",
            "KIP-289; ConsumerConfig",
            "clients/reference/config/consumer_config.py: _settle_auto_commit",
            "clients/reference/config/consumer_config.py: ConsumerConfig.require_group",
        ),
        should(
            "CLI-CFG-06",
            "Each group.protocol refuses the settings that only the other one has.",
            "KIP-848; ConsumerConfig",
            "clients/reference/config/consumer_config.py: _settle_group_protocol",
        ),
        should(
            "CLI-CFG-07",
            "Values of the wrong type or out of range are refused. So are bootstrap servers that cannot be parsed or "
            "of which none can be resolved. Unknown names are not applied silently.",
            "ClientUtils, ConfigDef",
            "clients/reference/config/config_keys.py: read_keys",
            "clients/reference/config/config_keys.py: bootstrap_servers",
            "clients/reference/transport/kafka_producer.py: resolvable",
        ),
        must(
            "CLI-CFG-08",
            "A broker refuses a transaction.timeout.ms above its maximum when the producer initializes.",
            "TransactionCoordinator",
            "harness/brokers/scripted/apis/init_producer_id.py: handle",
            "clients/reference/config/producer_config.py: ProducerConfig",
            not_yet="the reference client has no transactions yet; properties judge the scripted brokers alone",
        ),
        should(
            "CLI-CFG-09",
            "isolation.level, auto.offset.reset and acks accept their listed values and no others.",
            "KIP-1106; ConsumerConfig, ProducerConfig",
            "clients/reference/config/config_keys.py: one_of",
            "clients/reference/config/consumer_config.py: KEYS",
            "clients/reference/config/producer_config.py: KEYS",
        ),
    ),
)
