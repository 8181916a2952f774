/**
 * The Java producer's settings translated for @platformatic/kafka, and those without an equivalent.
 *
 * It waits the same time before every retry, including connections. One `send()` call is one request per broker,
 * without a buffer before it, and a record may take as long as its retries.
 */

import {
  acks,
  addOwn,
  CannotSet,
  isBefore,
  list,
  text,
  translate,
  truth,
  whole,
} from "./verifiable/index.mjs";

const IN_FLIGHT = "max.in.flight.requests.per.connection";
const TRANSACTIONAL_ID = "transactional.id";
const TRANSACTION_TIMEOUT = "transaction.timeout.ms";
const AT_ONCE = "send() sends all its records at once, however many";
const ONE_DELAY = "the client waits retryDelay before it connects again";

/** Java name -> why it has no equivalent. */
export const ABSENT = new Map([
  ["batch.size", AT_ONCE],
  ["buffer.memory", "the client does not limit memory"],
  ["delivery.timeout.ms", "the client limits only the number of retries"],
  ["linger.ms", AT_ONCE],
  ["max.block.ms", "send() never blocks"],
  ["max.request.size", "the client does not limit the size of a request"],
  ["reconnect.backoff.max.ms", ONE_DELAY],
  ["reconnect.backoff.ms", ONE_DELAY],
  ["retry.backoff.max.ms", "retryDelay is the same before every retry"],
]);

/** The options that take data, by their path: without a group those of `new Producer()`. */
export const OWN = [
  "autocreateTopics",
  "clientRack",
  "connectTimeout",
  "handleBackPressure",
  "maxInflights",
  "metadataMaxAge",
  "repeatOnStaleMetadata",
  "requestTimeout",
  "retries",
  "retryDelay",
  "send.acks",
  "send.autocreateTopics",
  "send.compression",
  "send.repeatOnStaleMetadata",
  "strict",
  "timeout",
];

/** Before this version there are no transactions. */
const FIRST_WITH_TRANSACTIONS = [1, 27];

/** Before this version a request waits for its response without a timeout. */
const FIRST_WITH_REQUEST_TIMEOUT = [1, 23];

/**
 * Return the options for `new Producer()`, with those for `send()` as a group, and what is applied or not.
 *
 * @param {Record<string, string | number | boolean>} config
 * @param {Record<string, { available?: boolean }>} algorithms its codecs
 * @param {string} version its version
 * @param {Record<string, string>} clientConfig settings under its own names
 */
export function producerOptions(config, algorithms, version, clientConfig = {}) {
  const codec = (value) => {
    if (!Object.hasOwn(algorithms, value))
      throw new CannotSet(`the client has no codec ${JSON.stringify(value)}`);
    if (!algorithms[value].available)
      throw new CannotSet(`Node ${process.versions.node} has no ${value}`);
    return value;
  };
  // Its `timeout` is that of Produce for the broker, and also the one of transactions.
  const hasTransactions = !isBefore(version, FIRST_WITH_TRANSACTIONS);
  const isTransactional =
    hasTransactions && Object.hasOwn(config, TRANSACTIONAL_ID);
  const requestTimeout = isTransactional
    ? "requestTimeout"
    : "requestTimeout, timeout";
  const options = new Map([
    ["acks", ["send.acks", acks]],
    ["bootstrap.servers", ["bootstrapBrokers", list]],
    ["client.id", ["clientId", text]],
    ["compression.type", ["send.compression", codec]],
    ["enable.idempotence", ["idempotent", truth]],
    [IN_FLIGHT, ["maxInflights", whole]],
    ["metadata.max.age.ms", ["metadataMaxAge", whole]],
    ["request.timeout.ms", [requestTimeout, whole]],
    ["retries", ["retries", whole]],
    ["retry.backoff.ms", ["retryDelay", whole]],
    ["socket.connection.setup.timeout.ms", ["connectTimeout", whole]],
  ]);
  const absent = new Map(ABSENT);
  if (hasTransactions) options.set(TRANSACTIONAL_ID, ["transactionalId", text]);
  else absent.set(TRANSACTIONAL_ID, `${version} has no transactions`);
  if (isTransactional) options.set(TRANSACTION_TIMEOUT, ["timeout", whole]);
  else absent.set(TRANSACTION_TIMEOUT, "it is for a transactional.id");
  if (isBefore(version, FIRST_WITH_REQUEST_TIMEOUT)) {
    options.delete("request.timeout.ms");
    absent.set("request.timeout.ms", `${version} waits for a response without a timeout`);
  }
  const { own, applied, notSet } = translate(config, options, absent);
  const clientNotSet = addOwn(own, clientConfig, OWN);
  const { send = {}, ...producer } = own;
  if (producer.idempotent) tellWhatIsForced(producer, applied, notSet);
  return { producer, send, applied, notSet, clientNotSet };
}

/** Report the settings that the constructor overrides because they conflict with idempotence. */
function tellWhatIsForced(producer, applied, notSet) {
  if (producer.maxInflights > 1) {
    delete applied[IN_FLIGHT];
    notSet[IN_FLIGHT] = "maxInflights is 1 if the client is idempotent";
  }
  if (producer.retries <= 1) {
    delete applied.retries;
    notSet.retries = "retries are unlimited if the client is idempotent";
  }
}
