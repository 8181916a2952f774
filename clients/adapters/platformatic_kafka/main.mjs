/**
 * The program for @platformatic/kafka. It runs in a folder with only that client.
 *
 * It makes one `send()` call per command, without waiting for it. The result has the first offset of each partition.
 * The partition of each record follows from the client's own hash of its key and the number of partitions that the
 * client knew. If that number changed meanwhile or was not known yet, or if the client chose the partition of a record
 * without a key, no offset of the call is certain, and none is reported.
 *
 * It reports a definite failure only if `send()` itself rejects the records: a UserError that is not wrapped, because
 * errors of requests are wrapped in another. Otherwise a record is `info`, unless the error lists it as produced.
 */

import {
  ConfigRefused,
  placesOf,
  PromisingAdapter,
  run,
  UNKNOWN,
} from "./verifiable/index.mjs";
import { readFileSync } from "node:fs";
import * as platformatic from "@platformatic/kafka";
import { PlatformaticConsumer } from "./consumer.mjs";
import { producerOptions } from "./settings.mjs";
import { PlatformaticTransactions } from "./transactions.mjs";

const { compressionsAlgorithms, Producer, stringSerializers, UserError } =
  platformatic;

const JAVAS_MAX_BLOCK_MS = 60_000; // the default of max.block.ms
const HAS_TRANSACTIONS = "beginTransaction" in Producer.prototype;

function installedVersion() {
  const main = import.meta.resolve("@platformatic/kafka");
  return JSON.parse(readFileSync(new URL("../package.json", main))).version;
}

class PlatformaticKafka extends PromisingAdapter {
  client = "platformatic-kafka";
  clientVersion = installedVersion();
  consumer = new PlatformaticConsumer(this.clientVersion);
  features = [
    "producer",
    "idempotence",
    ...(HAS_TRANSACTIONS ? ["transactions"] : []),
    "unplaced",
    "client_config",
    ...this.consumer.features,
  ];
  #producers;
  #sendOptions;
  /** By topic: the number of partitions that the client last knew. */
  #counts = new Map();

  async configure(config, clientConfig) {
    const { producer, send, ...told } = producerOptions(
      config,
      compressionsAlgorithms,
      this.clientVersion,
      clientConfig,
    );
    const serializers = stringSerializers;
    const limitMs = Number(config["max.block.ms"] ?? JAVAS_MAX_BLOCK_MS);
    const create = () => new Producer({ ...producer, serializers });
    try {
      this.#producers = new PlatformaticTransactions(create, nameOf, limitMs);
    } catch (error) {
      throw new ConfigRefused(error.message);
    }
    if (HAS_TRANSACTIONS) this.transactions = this.#producers;
    this.#sendOptions = send;
    return told;
  }

  async deliver(topic, records) {
    const messages = records.map(({ key, value, partition }) => ({
      topic,
      key: key ?? undefined,
      value,
      partition: partition ?? undefined,
    }));
    const options = { ...this.#sendOptions, messages };
    const count = this.#counts.get(topic);
    let produced, error;
    try {
      produced = await this.#producers.sender.send(options);
    } catch (thrown) {
      error = thrown;
      produced = thrown.produced;
    }
    const certain = (await this.#count(topic)) === count ? count : undefined;
    const partitions = records.map((record) => partitionOf(record, certain));
    const places = placesOf(partitions, firstOffsets(produced?.offsets));
    records.forEach(({ result }, index) => {
      const [partition, offset] = places[index];
      if (error === undefined || offset !== UNKNOWN) {
        result.ok(partition, offset);
      } else if (error instanceof UserError) {
        result.fail(nameOf(error));
      } else {
        result.info(nameOf(error));
      }
    });
  }

  /** Return the known partition count. In old versions, the call queries a broker only if nothing is known. */
  async #count(topic) {
    const asked = { topics: [topic], metadataMaxAge: Number.MAX_SAFE_INTEGER };
    const known =
      this.#producers.producer.currentMetadata ??
      (await this.#producers.producer.metadata(asked).catch(() => undefined));
    const count = known?.topics.get(topic)?.partitionsCount;
    this.#counts.set(topic, count);
    return count;
  }

  async disconnect() {
    await this.#producers.producer.close();
  }
}

/** Return the partition that the client chooses for a record, by its own rule. */
function partitionOf({ key, partition }, count) {
  if (count === undefined || (key === null && partition === null))
    return UNKNOWN;
  const bytes = Buffer.from(key ?? "");
  const hash =
    partition ??
    platformatic.defaultPartitioner?.({}, bytes) ??
    platformatic.murmur2(bytes) >>> 0; // as in old versions
  return hash % count;
}

function firstOffsets(told = []) {
  return new Map(told.map(({ partition, offset }) => [partition, offset]));
}

/** Return the name of the last of the errors that an error contains. */
function nameOf(error) {
  const last = error.errors?.filter(Boolean).at(-1);
  return last ? nameOf(last) : (error.apiId ?? error.code ?? error.name);
}

await run(new PlatformaticKafka());
