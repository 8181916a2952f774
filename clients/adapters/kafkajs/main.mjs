/**
 * The program for kafkajs. It runs in a folder with only that client.
 *
 * It makes one `send()` call per command, without waiting for it, as users do that send many records. The promise
 * returns the first offset of each partition. The partition of each record is observed through kafkajs's own default
 * partitioner. kafkajs calls the partitioner again for every retry, and the choice may change then (for a record
 * without a key). If one record of a call moved, no offset of that call is certain, and none is reported.
 *
 * It reports a definite failure only for a record for which the partitioner was never called, so that it cannot have
 * been sent. After that any error is `info`, because a rejected promise may hide partitions that were written.
 */

import {
  ConfigRefused,
  placesOf,
  PromisingAdapter,
  run,
  UNKNOWN,
} from "./verifiable/index.mjs";
import { createRequire } from "node:module";
import kafkajs from "kafkajs";
import SnappyCodec from "kafkajs-snappy";
import { KafkaJsConsumer } from "./consumer.mjs";
import { kafkajsOptions } from "./settings.mjs";
import { KafkaJsTransactions } from "./transactions.mjs";

const { CompressionCodecs, CompressionTypes, Kafka, Partitioners } = kafkajs;
const require = createRequire(import.meta.url);

CompressionCodecs[CompressionTypes.Snappy] = SnappyCodec;

/** One record, and its partition as the partitioner chose it: none yet, one, or UNKNOWN after a change. */
class Sent {
  /** @type {number | null} */
  partition = null;

  /** @param {import("./verifiable/adapter.mjs").Outgoing} record */
  constructor({ key, value, partition, result }) {
    this.message = { key, value, partition };
    this.result = result;
  }

  placed(partition) {
    const isMoved = this.partition !== null && this.partition !== partition;
    this.partition = isMoved ? UNKNOWN : partition;
  }
}

class KafkaJs extends PromisingAdapter {
  client = "kafkajs";
  clientVersion = require("kafkajs/package.json").version;
  consumer = new KafkaJsConsumer();
  transactions = new KafkaJsTransactions();
  features = [
    "producer",
    "idempotence",
    "transactions",
    "client_config",
    ...this.consumer.features,
  ];
  #sendOptions;
  /** @type {WeakMap<object, Sent>} */
  #sentAs = new WeakMap();

  async configure(config, clientConfig) {
    const { client, producer, send, ...told } = kafkajsOptions(
      config,
      CompressionTypes,
      clientConfig,
    );
    try {
      // before 2.0, requests have a timeout only with enforceRequestTimeout
      const kafka = new Kafka({ enforceRequestTimeout: true, ...client });
      const createPartitioner = () => this.#listeningPartitioner();
      this.transactions.createWith(() =>
        kafka.producer({ ...producer, createPartitioner }),
      );
    } catch (error) {
      throw new ConfigRefused(error.message);
    }
    this.#sendOptions = send;
    return told;
  }

  #listeningPartitioner() {
    const partitioner = Partitioners.DefaultPartitioner();
    return (asked) => {
      const partition = partitioner(asked);
      this.#sentAs.get(asked.message)?.placed(partition);
      return partition;
    };
  }

  async deliver(topic, records) {
    const sent = records.map((record) => new Sent(record));
    for (const one of sent) this.#sentAs.set(one.message, one);
    const messages = sent.map(({ message }) => message);
    const options = { ...this.#sendOptions, topic, messages };
    let told;
    try {
      await this.transactions.connected;
      told = await this.transactions.sender.send(options);
    } catch (error) {
      failed(sent, error);
      return;
    }
    const partitions = sent.map(({ partition }) => partition);
    const places = placesOf(partitions, firstOffsets(told));
    sent.forEach(({ result }, index) => result.ok(...places[index]));
  }

  async disconnect() {
    await this.transactions.disconnect();
  }
}

function failed(sent, error) {
  const name = error.type ?? error.name;
  for (const { partition, result } of sent) {
    if (partition === null) result.fail(name);
    else result.info(name);
  }
}

function firstOffsets(told) {
  return new Map(
    told.map(({ partition, baseOffset }) => [partition, BigInt(baseOffset)]),
  );
}

await run(new KafkaJs());
