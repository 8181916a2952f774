/**
 * kafkajs's consumer. It hands over the records of one partition at a time, and has no listener of rebalances: what a
 * member has follows from the events of the client. A consumer cannot change its subscription, so each subscription
 * makes one.
 */

import {
  ConfigRefused,
  ConsumerAdapter,
  EARLIEST,
} from "./verifiable/index.mjs";
import kafkajs from "kafkajs";
import { consumerOptions } from "./consumer_settings.mjs";

const { Kafka, PartitionAssigners } = kafkajs;

export class KafkaJsConsumer extends ConsumerAdapter {
  features = [
    "consumer",
    "group",
    "read_committed",
    "seek",
    "pause",
    "pattern",
  ];
  #kafka;
  #options;
  #consumer = null;
  #member;
  #isLeaving = false;

  async configure(config, clientConfig, member) {
    const { client, consumer, run, subscribe, ...told } = consumerOptions(
      config,
      { roundrobin: PartitionAssigners.roundRobin },
      clientConfig,
    );
    this.#member = member;
    this.#options = { consumer, run, subscribe };
    try {
      this.#kafka = new Kafka({ enforceRequestTimeout: true, ...client });
      this.#kafka.consumer(consumer);
    } catch (error) {
      throw new ConfigRefused(error.message);
    }
    return told;
  }

  async subscribe(topics, pattern, commit) {
    const consumer = this.#kafka.consumer(this.#options.consumer);
    this.#consumer = consumer;
    this.#isLeaving = false;
    this.#observe(consumer);
    await consumer.connect();
    for (const topic of pattern === null ? topics : [new RegExp(pattern)])
      await consumer.subscribe({ ...this.#options.subscribe, topic });
    await consumer.run({
      ...this.#options.run,
      eachBatchAutoResolve: false,
      eachBatch: (turn) => this.#eachBatch(turn),
    });
  }

  #observe(consumer) {
    const { COMMIT_OFFSETS, CRASH, GROUP_JOIN, REBALANCING } = consumer.events;
    const member = this.#member;
    const tells = REBALANCING !== undefined; // not before 1.16
    if (tells) consumer.on(REBALANCING, () => member.revoked());
    consumer.on(GROUP_JOIN, ({ payload }) => {
      if (tells) member.lost(); // it has something only if no REBALANCING came before
      else member.revoked();
      member.assigned(placesOf(payload.memberAssignment), -1, payload.memberId);
    });
    consumer.on(CRASH, ({ payload }) => {
      if (!this.#isLeaving) member.failed("run", payload.error);
    });
    if (this.#options.run.autoCommit !== false)
      consumer.on(COMMIT_OFFSETS, ({ payload }) =>
        member.committed(positionsOf(payload.topics)),
      );
  }

  async #eachBatch({ batch, resolveOffset, heartbeat, isRunning, isStale }) {
    const records = batch.messages.map(({ offset, key, value }) => ({
      offset: BigInt(offset),
      key: key?.toString() ?? null,
      value: value?.toString() ?? null,
    }));
    const isCurrent = () => isRunning() && !isStale();
    if (!(await this.#member.work(batch, records, isCurrent))) return;
    resolveOffset(batch.messages.at(-1).offset);
    if (isRunning()) await heartbeat();
  }

  async unsubscribe() {
    await this.#leave();
  }

  async seek({ topic, partition, offset }) {
    const at = offset < 0 ? await this.#end(topic, partition, offset) : offset;
    this.#running().seek({ topic, partition, offset: String(at) });
  }

  /** Ask for a special offset: in a seek, kafkajs takes each of them for the one of `fromBeginning`. */
  async #end(topic, partition, special) {
    const admin = this.#kafka.admin();
    await admin.connect();
    try {
      const told = await admin.fetchTopicOffsets(topic);
      const { low, high } = told.find((each) => each.partition === partition);
      return special === EARLIEST ? low : high;
    } finally {
      await admin.disconnect();
    }
  }

  async pause(partitions) {
    this.#running().pause(byTopic(partitions));
  }

  async resume(partitions) {
    this.#running().resume(byTopic(partitions));
  }

  async commit(offsets) {
    const texts = offsets.map((each) => ({
      ...each,
      offset: String(each.offset),
    }));
    await this.#running().commitOffsets(texts);
  }

  async close() {
    await this.#leave();
  }

  async #leave() {
    this.#isLeaving = true;
    await this.#consumer?.disconnect();
    this.#consumer = null;
    this.#member.revoked();
  }

  #running() {
    if (this.#consumer === null) throw new Error("there is no subscription");
    return this.#consumer;
  }

  describe(error) {
    return {
      name: error.type ?? error.name,
      retriable: error.retriable ?? null,
    };
  }
}

function placesOf(assignment) {
  return Object.entries(assignment).flatMap(([topic, partitions]) =>
    partitions.map((partition) => ({ topic, partition })),
  );
}

function positionsOf(topics) {
  return topics.flatMap(({ topic, partitions }) =>
    partitions.map(({ partition, offset }) => ({
      topic,
      partition: Number(partition),
      offset: BigInt(offset),
    })),
  );
}

function byTopic(partitions) {
  return partitions.map(({ topic, partition }) => ({
    topic,
    partitions: [partition],
  }));
}
