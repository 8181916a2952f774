/**
 * The Java consumer's settings translated for kafkajs, and those without an equivalent.
 *
 * kafkajs heartbeats between two batches, and leaves a group only when its session ends.
 */

import {
  addOwn,
  assignor,
  CannotSet,
  list,
  text,
  translate,
  truth,
  whole,
} from "./verifiable/index.mjs";

const ONE_POLICY = "kafkajs waits before it connects as before any retry";

/** Java name -> why kafkajs has no equivalent. */
export const ABSENT = new Map([
  ["default.api.timeout.ms", "kafkajs limits only the number of retries"],
  ["group.instance.id", "kafkajs has no static membership"],
  ["max.poll.records", "kafkajs hands over all records of a batch at once"],
  ["reconnect.backoff.max.ms", ONE_POLICY],
  ["reconnect.backoff.ms", ONE_POLICY],
]);

/** Options of kafkajs that take data, by their path: without a group those of `new Kafka()`. */
export const OWN = [
  "authenticationTimeout",
  "connectionTimeout",
  "enforceRequestTimeout",
  "logLevel",
  "consumer.maxInFlightRequests",
  "consumer.rebalanceTimeout",
  ...["", "consumer."].flatMap((group) =>
    [
      "factor",
      "initialRetryTime",
      "maxRetryTime",
      "multiplier",
      "retries",
    ].map((name) => `${group}retry.${name}`),
  ),
  "requestTimeout",
  "run.autoCommitThreshold",
  "run.partitionsConsumedConcurrently",
];

const OPTIONS = [
  ["allow.auto.create.topics", "consumer.allowAutoTopicCreation", truth],
  ["auto.commit.interval.ms", "run.autoCommitInterval", whole],
  ["auto.offset.reset", "subscribe.fromBeginning", fromBeginning],
  ["bootstrap.servers", "brokers", list],
  ["check.crcs", "never", never],
  ["client.id", "clientId", text],
  ["client.rack", "consumer.rackId", text],
  ["enable.auto.commit", "run.autoCommit", truth],
  ["fetch.max.bytes", "consumer.maxBytes", whole],
  ["fetch.max.wait.ms", "consumer.maxWaitTimeInMs", whole],
  ["fetch.min.bytes", "consumer.minBytes", whole],
  ["group.id", "consumer.groupId", text],
  ["group.protocol", "always", classic],
  ["heartbeat.interval.ms", "consumer.heartbeatInterval", whole],
  ["isolation.level", "consumer.readUncommitted", isUncommitted],
  ["max.partition.fetch.bytes", "consumer.maxBytesPerPartition", whole],
  ["max.poll.interval.ms", "consumer.rebalanceTimeout", whole],
  ["metadata.max.age.ms", "consumer.metadataMaxAge", whole],
  ["request.timeout.ms", "requestTimeout", whole],
  ["retry.backoff.max.ms", "retry.maxRetryTime", whole],
  ["retry.backoff.ms", "retry.initialRetryTime", whole],
  ["session.timeout.ms", "consumer.sessionTimeout", whole],
  ["socket.connection.setup.timeout.ms", "connectionTimeout", whole],
];

/**
 * Return the options for `new Kafka()`, with those for `consumer()`, `subscribe()` and `run()` as groups, and what is
 * applied or not.
 *
 * @param {Record<string, string | number | boolean>} config
 * @param {Record<string, unknown>} assigners kafkajs's own, by their short names
 * @param {Record<string, string>} clientConfig settings under kafkajs's own names
 */
export function consumerOptions(config, assigners, clientConfig = {}) {
  const strategy = (value) => {
    for (const name of list(value))
      if (!Object.hasOwn(assigners, assignor(name)))
        throw new CannotSet(`kafkajs has no assignor ${JSON.stringify(name)}`);
    return list(value).map(assignor);
  };
  const options = new Map(
    OPTIONS.map(([java, path, read]) => [java, [path, read]]),
  );
  const assigning = "partition.assignment.strategy";
  options.set(assigning, ["consumer.partitionAssigners", strategy]);
  const { own, applied, notSet } = translate(config, options, ABSENT);
  const clientNotSet = addOwn(own, clientConfig, OWN);
  const interval = "max.poll.interval.ms";
  if (Object.hasOwn(applied, interval)) {
    delete applied[interval];
    notSet[interval] =
      "rebalanceTimeout is set to it, but a slow member is not removed for it";
  }
  delete own.always;
  delete own.never;
  const { consumer = {}, run = {}, subscribe = {}, ...client } = own;
  if (consumer.partitionAssigners)
    consumer.partitionAssigners = consumer.partitionAssigners.map(
      (name) => assigners[name],
    );
  return { client, consumer, run, subscribe, applied, notSet, clientNotSet };
}

function fromBeginning(value) {
  if (value === "none")
    throw new CannotSet("kafkajs always resets to the beginning or the end");
  return value === "earliest";
}

function isUncommitted(value) {
  return value === "read_uncommitted";
}

function classic(value) {
  if (value === "classic") return value;
  throw new CannotSet("kafkajs has only the classic protocol");
}

function never(value) {
  if (value === false) return value;
  throw new CannotSet("kafkajs does not check them");
}
