/**
 * The program that stands for @platformatic/kafka; it runs in a folder that holds that client and nothing else.
 *
 * One `send()` a command, none waited for. Its result names the first offset of each partition, so where a record went
 * follows from the client's own hash of its key and the number of partitions that the client knew. Where that number
 * changed meanwhile or was not known yet, or where a record without a key was given any partition, no place of the call
 * is certain, and none is given.
 *
 * Definite failure is claimed only where `send()` itself refuses the records: a UserError by itself, for the errors
 * of requests come wrapped in another. Otherwise a record is `info`, but for those that the error names as produced.
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
  features = ["producer", "idempotence", "unplaced"];
  #producer;
  #sendOptions;
  /** By topic: the number of partitions that the client last knew. */
  #counts = new Map();

  async configure(config) {
    const { producer, send, applied, notSet } = producerOptions(
      config,
      compressionsAlgorithms,
      this.clientVersion,
    );
    const serializers = stringSerializers;
    try {
      this.#producer = new Producer({ ...producer, serializers });
    } catch (error) {
      throw new ConfigRefused(error.message);
    }
    this.#sendOptions = send;
    return { applied, notSet };
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

  /** Old versions show what they know to those who ask, and then ask no broker unless they know nothing. */
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

/** The partition that the client gives a record, by its own rule. */
function partitionOf({ key, partition }, count) {
  if (count === undefined || (key === null && partition === null))
    return UNKNOWN;
  const bytes = Buffer.from(key ?? "");
  const hash =
    partition ??
    platformatic.defaultPartitioner?.({}, bytes) ??
    platformatic.murmur2(bytes) >>> 0; // what old versions do
  return hash % count;
}

function firstOffsets(told = []) {
  return new Map(told.map(({ partition, offset }) => [partition, offset]));
}

/** What the last of the errors that an error stands for calls itself. */
function nameOf(error) {
  const last = error.errors?.filter(Boolean).at(-1);
  return last ? nameOf(last) : (error.apiId ?? error.code ?? error.name);
}

await run(new PlatformaticKafka());
