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

const { compressionsAlgorithms, Producer, stringSerializers, UserError } =
  platformatic;

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
    "unplaced",
    "client_config",
    ...this.consumer.features,
  ];
  #producer;
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
    try {
      this.#producer = new Producer({ ...producer, serializers });
    } catch (error) {
      throw new ConfigRefused(error.message);
    }
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
      produced = await this.#producer.send(options);
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
      this.#producer.currentMetadata ??
      (await this.#producer.metadata(asked).catch(() => undefined));
    const count = known?.topics.get(topic)?.partitionsCount;
    this.#counts.set(topic, count);
    return count;
  }

  async disconnect() {
    await this.#producer.close();
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
