/**
 * The Java producer's settings translated for kafkajs, and those without an equivalent.
 *
 * kafkajs has one retry policy, which includes connections. It has no batches beyond one `send()` call, no buffer, and
 * no limit on the time of a record except its retries.
 */

import {
  acks,
  addOwn,
  CannotSet,
  list,
  text,
  translate,
  truth,
  whole,
} from "./verifiable/index.mjs";

const IN_FLIGHT = "max.in.flight.requests.per.connection";
const AT_ONCE = "kafkajs sends the records of a send() at once, however many";
const ONE_POLICY = "kafkajs waits before it connects as before any retry";

/** Why a codec is not available: its plug-in must be compiled where it is installed. */
const COMPILED = {
  lz4: "kafkajs has lz4 from kafkajs-lz4 only, which has to be compiled",
  zstd: "kafkajs has zstd from @kafkajs/zstd only, which has to be compiled",
};

/** Java name -> why kafkajs has no equivalent. */
export const ABSENT = new Map([
  ["batch.size", AT_ONCE],
  ["buffer.memory", "kafkajs does not limit memory"],
  ["delivery.timeout.ms", "kafkajs limits only the number of retries"],
  ["linger.ms", AT_ONCE],
  ["max.block.ms", "send() of kafkajs never blocks"],
  ["max.request.size", "kafkajs does not limit the size of a request"],
  ["reconnect.backoff.max.ms", ONE_POLICY],
  ["reconnect.backoff.ms", ONE_POLICY],
]);

/** The options of kafkajs that take data, by their path: without a group those of `new Kafka()`. */
export const OWN = [
  "authenticationTimeout",
  "connectionTimeout",
  "enforceRequestTimeout",
  "logLevel",
  "producer.allowAutoTopicCreation",
  "producer.maxInFlightRequests",
  "producer.metadataMaxAge",
  ...["", "producer."].flatMap((group) =>
    [
      "factor",
      "initialRetryTime",
      "maxRetryTime",
      "multiplier",
      "retries",
    ].map((name) => `${group}retry.${name}`),
  ),
  "reauthenticationThreshold",
  "requestTimeout",
  "send.acks",
  "send.compression",
  "send.timeout",
];

/**
 * Return the options for `new Kafka()`, with those for `producer()` and `send()` as groups, and what is applied or not.
 *
 * @param {Record<string, string | number | boolean>} config
 * @param {Record<string, number>} compressionTypes kafkajs's own numbers
 * @param {Record<string, string>} clientConfig settings under kafkajs's own names
 */
export function kafkajsOptions(config, compressionTypes, clientConfig = {}) {
  const { None, GZIP, Snappy } = compressionTypes;
  const codecs = { none: None, gzip: GZIP, snappy: Snappy };
  const codec = (value) => {
    if (Object.hasOwn(codecs, value)) return codecs[value];
    throw new CannotSet(
      COMPILED[value] ?? `kafkajs has no codec ${JSON.stringify(value)}`,
    );
  };
  const options = new Map([
    ["acks", ["send.acks", acks]],
    ["bootstrap.servers", ["brokers", list]],
    ["client.id", ["clientId", text]],
    ["compression.type", ["send.compression", codec]],
    ["enable.idempotence", ["producer.idempotent", truth]],
    [IN_FLIGHT, ["producer.maxInFlightRequests", whole]],
    ["metadata.max.age.ms", ["producer.metadataMaxAge", whole]],
    ["request.timeout.ms", ["requestTimeout, send.timeout", whole]],
    ["retries", ["retry.retries", whole]],
    ["retry.backoff.max.ms", ["retry.maxRetryTime", whole]],
    ["retry.backoff.ms", ["retry.initialRetryTime", whole]],
    ["socket.connection.setup.timeout.ms", ["connectionTimeout", whole]],
    ["transaction.timeout.ms", ["producer.transactionTimeout", whole]],
    ["transactional.id", ["producer.transactionalId", text]],
  ]);
  const { own, applied, notSet } = translate(config, options, ABSENT);
  const clientNotSet = addOwn(own, clientConfig, OWN);
  const { producer = {}, send = {}, ...client } = own;
  if (producer.idempotent) limitInFlight(producer, applied, notSet);
  return { client, producer, send, applied, notSet, clientNotSet };
}

/** Its documentation requires one request in flight if each record is to be written exactly once. */
function limitInFlight(producer, applied, notSet) {
  if (!(producer.maxInFlightRequests > 1)) return;
  producer.maxInFlightRequests = 1;
  delete applied[IN_FLIGHT];
  notSet[IN_FLIGHT] =
    "kafkajs requires 1 for an idempotent producer: maxInFlightRequests is set to 1";
}
