/** The Java consumer's settings translated for @platformatic/kafka, and those without an equivalent. */

import {
  addOwn,
  assignor,
  CannotSet,
  isBefore,
  list,
  text,
  translate,
  truth,
  whole,
} from "./verifiable/index.mjs";

const ONE_DELAY = "the client waits retryDelay before it connects again";

/** Java name -> why it has no equivalent. */
export const ABSENT = new Map([
  ["allow.auto.create.topics", "a consumer creates no topics"],
  ["auto.commit.interval.ms", "autocommit is off"],
  ["check.crcs", "the client does not say whether it checks them"],
  ["default.api.timeout.ms", "the client limits only the number of retries"],
  ["max.poll.records", "a stream returns one message"],
  ["reconnect.backoff.max.ms", ONE_DELAY],
  ["reconnect.backoff.ms", ONE_DELAY],
  ["retry.backoff.max.ms", "retryDelay is the same before every retry"],
]);

/** The options that take data, by their path: those of `new Consumer()`, and of `consume()` as a group. */
export const OWN = [
  "autocreateTopics",
  "connectTimeout",
  "consume.highWaterMark",
  "consume.maxFetches",
  "heartbeatStallTimeout",
  "maxInflights",
  "rebalanceTimeout",
  "requestTimeout",
  "retries",
  "retryDelay",
  "strict",
  "timeout",
];

const OPTIONS = [
  ["auto.offset.reset", "consume.fallbackMode", fallback],
  ["bootstrap.servers", "bootstrapBrokers", list],
  ["client.id", "clientId", text],
  ["client.rack", "clientRack", text],
  ["enable.auto.commit", "consume.autocommit", truth],
  ["fetch.max.bytes", "consume.maxBytes", whole],
  ["fetch.max.wait.ms", "consume.maxWaitTime", whole],
  ["fetch.min.bytes", "consume.minBytes", whole],
  ["group.id", "groupId", text],
  ["group.instance.id", "groupInstanceId", text],
  ["group.protocol", "always", classic],
  ["heartbeat.interval.ms", "heartbeatInterval", whole],
  ["max.partition.fetch.bytes", "consume.maxBytesPerPartition", whole],
  ["max.poll.interval.ms", "rebalanceTimeout", whole],
  ["metadata.max.age.ms", "metadataMaxAge", whole],
  ["partition.assignment.strategy", "always", roundrobin],
  ["request.timeout.ms", "requestTimeout, timeout", whole],
  ["retry.backoff.ms", "retryDelay", whole],
  ["session.timeout.ms", "sessionTimeout", whole],
  ["socket.connection.setup.timeout.ms", "connectTimeout", whole],
];

/** Options that the client has from a version on, or from the first tested version that has them. */
const LATER = [
  ["request.timeout.ms", [1, 23]],
  ["group.instance.id", [1, 35]],
  ["max.partition.fetch.bytes", [1, 35]],
  ["client.rack", [2, 0]],
];

/** @param {string} version */
export function hasStaticMembers(version) {
  return !isBefore(version, new Map(LATER).get("group.instance.id"));
}

/**
 * Return the options for `new Consumer()` and for `consume()`, and what is applied or not.
 *
 * @param {Record<string, string | number | boolean>} config
 * @param {Record<string, any>} client the client's module
 * @param {string} version its version
 * @param {Record<string, string>} clientConfig settings under its own names
 */
export function consumerOptions(config, client, version, clientConfig = {}) {
  const options = new Map(
    OPTIONS.map(([java, path, read]) => [java, [path, read]]),
  );
  const absent = new Map(ABSENT);
  options.set("isolation.level", ["consume.isolationLevel", isolation(client)]);
  for (const [java, first] of LATER) {
    if (!isBefore(version, first)) continue;
    options.delete(java);
    absent.set(java, `${version} has no such option`);
  }
  if (config["enable.auto.commit"] === true) {
    options.set("auto.commit.interval.ms", ["consume.autocommit", interval]);
    absent.delete("auto.commit.interval.ms");
  }
  const { own, applied, notSet } = translate(config, options, absent);
  const clientNotSet = addOwn(own, clientConfig, OWN);
  delete own.always;
  const late = "max.poll.interval.ms";
  if (Object.hasOwn(applied, late)) {
    delete applied[late];
    notSet[late] =
      "rebalanceTimeout is set to it, but a slow member is not removed for it";
  }
  const { consume = {}, ...consumer } = own;
  const modes = { mode: "committed", fallbackMode: "latest" };
  if (typeof own.consume?.autocommit === "boolean" || !own.consume?.autocommit)
    consume.autocommit = config["enable.auto.commit"] === true;
  return {
    consumer,
    consume: { ...modes, ...consume },
    applied,
    notSet,
    clientNotSet,
  };
}

/** Old versions take the names of the levels, and new ones their numbers. */
function isolation({ allowedFetchIsolationLevels = [0, 1] }) {
  const takesNames = typeof allowedFetchIsolationLevels[0] === "string";
  const levels = {
    read_uncommitted: takesNames ? "READ_UNCOMMITTED" : 0,
    read_committed: takesNames ? "READ_COMMITTED" : 1,
  };
  return (value) => {
    if (Object.hasOwn(levels, value)) return levels[value];
    throw new CannotSet(`the client has no level ${JSON.stringify(value)}`);
  };
}

function fallback(value) {
  return value === "none" ? "fail" : value;
}

function interval(value) {
  if (whole(value) >= 100) return value;
  throw new CannotSet("the client commits at most every 100 ms");
}

function classic(value) {
  if (value === "classic") return value;
  throw new CannotSet("the client does not tell what it is assigned then");
}

function roundrobin(value) {
  if (list(value).every((name) => assignor(name) === "roundrobin"))
    return value;
  throw new CannotSet("the client has only its own round robin");
}
