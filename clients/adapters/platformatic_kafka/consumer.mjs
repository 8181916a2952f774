/**
 * The consumer of @platformatic/kafka. It has no listener of rebalances: what a member has follows from its events. A
 * member that joins again has given up what it had (the protocol is eager), whatever the client still hands over. Its
 * stream mixes the records of all partitions, and takes up all of them again after a join.
 *
 * With the consumer protocol the client tells of its first join only, so that protocol is not on trial.
 */

import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import {
  ConfigRefused,
  ConsumerAdapter,
  monotonicNs,
  Unsupported,
} from "./verifiable/index.mjs";
import * as platformatic from "@platformatic/kafka";
import { consumerOptions, hasStaticMembers } from "./consumer_settings.mjs";

/** Java's default of max.poll.records. */
const MOST_RECORDS = 500;
const AFTER_ERROR_MS = 100;
const UNKNOWN_EPOCH = -1;

export class PlatformaticConsumer extends ConsumerAdapter {
  features;
  #version;
  #options;
  #consume;
  #consumer = null;
  #stream = null;
  #reading = Promise.resolve();
  #isLeaving = false;
  #member;

  /** @param {string} version */
  constructor(version) {
    super();
    this.#version = version;
    const stable = hasStaticMembers(version) ? ["static_membership"] : [];
    this.features = ["consumer", "group", ...stable, "read_committed"];
  }

  async configure(config, clientConfig, member) {
    const { consumer, consume, ...told } = consumerOptions(
      config,
      platformatic,
      this.#version,
      clientConfig,
    );
    this.#member = member;
    this.#options = {
      ...consumer,
      deserializers: platformatic.stringDeserializers,
    };
    this.#consume = consume;
    try {
      await new platformatic.Consumer(this.#options).close();
    } catch (error) {
      throw new ConfigRefused(error.message);
    }
    return told;
  }

  async subscribe(topics, pattern) {
    if (pattern !== null) throw new Unsupported();
    this.#isLeaving = false;
    const consumer = new platformatic.Consumer(this.#options);
    this.#consumer = consumer;
    const member = this.#member;
    consumer.on("consumer:group:rebalance", () => member.revoked());
    consumer.on("consumer:group:join", ({ memberId, generationId }) => {
      member.lost(); // it has something only if no rebalance came before
      const places = placesOf(consumer.assignments ?? []);
      member.assigned(places, generationId, memberId);
    });
    this.#reading = this.#readAgain(consumer, topics);
  }

  /** Read, and begin again after an error, which ends a stream. */
  async #readAgain(consumer, topics) {
    while (!this.#isLeaving) {
      try {
        this.#stream = await consumer.consume({ ...this.#consume, topics });
        this.#stream.on("autocommit", (error, offsets) =>
          this.#member.committed(offsets ?? [], error),
        );
        await this.#read(this.#stream);
      } catch (error) {
        if (this.#isLeaving) return;
        this.#member.failed("consume", error);
        await sleep(AFTER_ERROR_MS);
      }
    }
  }

  async #read(stream) {
    const ended = once(stream, "close");
    stream.on("readable", () => {}); // the client fetches only with a reader
    while (!stream.destroyed && !this.#isLeaving) {
      const message = stream.read();
      if (message === null) {
        await Promise.race([once(stream, "readable"), ended]);
        continue;
      }
      const runs = byPartition(message, stream);
      const polledNs = monotonicNs();
      for (const records of runs)
        await this.#member.work(
          records[0],
          records.map(({ offset, key, value }) => ({
            offset,
            key: key ?? null,
            value: value ?? null,
          })),
          () => true,
          polledNs,
        );
    }
  }

  async unsubscribe() {
    await this.#leave();
  }

  async commit(offsets) {
    if (this.#consumer === null) throw new Error("there is no subscription");
    await this.#consumer.commit({
      offsets: offsets.map((each) => ({ ...each, leaderEpoch: UNKNOWN_EPOCH })),
    });
  }

  async close() {
    await this.#leave();
  }

  async #leave() {
    if (this.#consumer === null) return;
    this.#isLeaving = true;
    await this.#stream?.close();
    await this.#reading;
    await this.#consumer.close(true);
    this.#consumer = this.#stream = null;
    this.#member.revoked();
  }

  describe(error) {
    const last = error.errors?.filter(Boolean).at(-1);
    if (last) return this.describe(last);
    const name = error.apiId ?? error.code ?? error.name;
    return { name, retriable: error.canRetry ?? null };
  }
}

/** The first message and those that follow without waiting, as runs of one partition. */
function byPartition(first, stream) {
  const runs = [[first]];
  for (let count = 1; count < MOST_RECORDS; count++) {
    const message = stream.read();
    if (message === null) break;
    const { topic, partition } = runs.at(-1)[0];
    if (message.topic === topic && message.partition === partition)
      runs.at(-1).push(message);
    else runs.push([message]);
  }
  return runs;
}

function placesOf(assignments) {
  return assignments.flatMap(({ topic, partitions }) =>
    partitions.map((partition) => ({ topic, partition })),
  );
}
