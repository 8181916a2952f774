/**
 * The application of one consumer. The client hands it records, at most one call at a time, and it executes commands
 * between two turns. Everything that it reports is in the order in which the application sees it.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { Unsupported } from "./consumer.mjs";
import { monotonicNs } from "./output.mjs";

/** A client whose commit fails at once would otherwise write events without end. */
const ERROR_PAUSE_MS = 100;

export class Member {
  #consumer;
  #output;
  #complete;
  #commit = "none";
  #processingMs = 0;
  #isSubscribed = false;
  /** The end of the turn or command in progress, and of those that wait. */
  /** @type {Promise<unknown>} */
  #last = Promise.resolve();
  /** Settled once handlers that wait for their turn must give up, because the client waits for them to stop. */
  /** @type {Promise<boolean>} */
  #refusal = Promise.resolve(true);
  #refuse = (_) => {};
  #isWorking = false;
  /** @type {(() => void)[]} what happened to the membership during a turn */
  #later = [];
  /** @type {Map<string, import("./consumer.mjs").Position>} */
  #processed = new Map();
  /** @type {Map<string, import("./consumer.mjs").Place>} */
  #owned = new Map();

  /**
   * @param {import("./consumer.mjs").ConsumerAdapter} consumer
   * @param {Pick<import("./output.mjs").Output, "event">} output
   * @param {(op: string, id: number, invokeNs: bigint, error: string | null) => void} complete
   */
  constructor(consumer, output, complete) {
    this.#consumer = consumer;
    this.#output = output;
    this.#complete = complete;
  }

  /**
   * Work on records of one partition, in the order of delivery. False if the application does not process them: it does
   * not take them, or could not commit them first.
   *
   * @param {import("./consumer.mjs").Place} place
   * @param {{ offset: bigint, key: string | null, value: string | null, leaderEpoch?: number }[]} records
   * @param {() => boolean} isCurrent false once a seek has made the records obsolete
   * @param {bigint} polledNs when the client handed them over
   */
  async work(
    place,
    records,
    isCurrent = () => true,
    polledNs = monotonicNs(),
  ) {
    const [before, end] = this.#queued();
    const ready = before.then(() => false);
    const isRefused = await Promise.race([ready, this.#refusal]);
    try {
      if (isRefused || !isCurrent()) return false;
      return await this.#turn(place, records, polledNs);
    } finally {
      end(undefined);
    }
  }

  async #turn(place, records, polledNs) {
    this.#isWorking = true;
    const isProcessed = await this.#process(place, records, polledNs);
    this.#isWorking = false;
    for (const happened of this.#later.splice(0)) happened();
    return isProcessed;
  }

  async #process({ topic, partition }, records, polledNs) {
    const offset = records.at(-1).offset + 1n;
    const next = { topic, partition, offset };
    if (
      this.#commit === "sync-first" &&
      !(await this.#tryCommit("sync", [next]))
    ) {
      await this.#goBack({ ...next, offset: records[0].offset });
      await sleep(ERROR_PAUSE_MS);
      return false;
    }
    // A timer may fire up to a millisecond early, and the turn lasts as long as it was asked to.
    await sleep(this.#processingMs && this.#processingMs + 1);
    this.#consumed({ topic, partition }, records, polledNs);
    this.#processed.set(keyOf(next), next);
    if (["sync", "async"].includes(this.#commit))
      await this.#tryCommit(this.#commit, [next]);
    return true;
  }

  /** Set the position to the first record that is not processed. If the client cannot, the records are dropped. */
  async #goBack(position) {
    try {
      await this.#consumer.seek(position);
    } catch (error) {
      if (!(error instanceof Unsupported)) this.failed("seek", error);
    }
  }

  /**
   * The partitions that the member has from now on: those of an eager rebalance, or the new ones.
   *
   * @param {import("./consumer.mjs").Place[]} partitions
   * @param {number} generation
   * @param {string} memberId
   */
  assigned(partitions, generation = -1, memberId = "") {
    this.#afterTurn(() => {
      for (const each of partitions) this.#owned.set(keyOf(each), each);
      const member_id = memberId;
      this.#output.event("partitions_assigned", {
        partitions,
        generation,
        member_id,
      });
    });
  }

  /** The member gives up all partitions that it has. */
  revoked() {
    this.#givesUp("partitions_revoked");
  }

  /** The member has lost all partitions that it had. */
  lost() {
    this.#givesUp("partitions_lost");
  }

  /** Report a commit that the client made by itself. */
  committed(offsets, error = null) {
    const now = monotonicNs();
    this.#report("auto", offsets, now, now, error);
  }

  /** Report an error that the application got. */
  failed(call, error) {
    const { name, retriable } = this.#consumer.describe(error);
    const message = String(error.message);
    this.#output.event("consumer_error", {
      call,
      error: name,
      message,
      retriable,
    });
  }

  /**
   * Execute a command, after the turn in progress.
   *
   * @param {Record<string, any>} command
   */
  async execute(command) {
    const { cmd, id } = command;
    await this.#exclusively(async () => {
      const invokeNs = monotonicNs();
      try {
        await this.#call(command);
      } catch (error) {
        if (error instanceof Unsupported) {
          this.#output.event("unsupported", { cmd, id });
          return;
        }
        this.failed(cmd, error);
        this.#complete(cmd, id, invokeNs, this.#consumer.describe(error).name);
        return;
      }
      this.#complete(cmd, id, invokeNs, null);
    });
  }

  /** Close the client after the turn in progress. True if it is done. */
  async close() {
    return this.#exclusively(async () => {
      this.#refuse(true);
      try {
        await this.#consumer.close();
        return true;
      } catch (error) {
        this.failed("close", error);
        return false;
      }
    });
  }

  async #call(command) {
    const consumer = this.#consumer;
    switch (command.cmd) {
      case "subscribe": {
        const { topics = [], pattern = null, commit = "none" } = command;
        await this.#begin(command, () =>
          consumer.subscribe(topics, pattern, commit),
        );
        break;
      }
      case "assign":
        await this.#begin(command, () =>
          consumer.assign(command.partitions, command.commit ?? "none"),
        );
        break;
      case "unsubscribe":
        await this.#end();
        break;
      case "seek":
        await consumer.seek(command.position);
        this.#processed.delete(keyOf(command.position));
        break;
      case "pause":
        await consumer.pause(command.partitions);
        break;
      case "resume":
        await consumer.resume(command.partitions);
        break;
      case "commit":
        await this.#commitNow(command.how ?? "sync", [
          ...this.#processed.values(),
        ]);
        break;
      case "process":
        this.#processingMs = command.processing_ms;
        break;
      default:
        throw new Unsupported(); // wakeup and throw: there is neither a poll nor a listener
    }
  }

  async #begin({ commit = "none", processing_ms = 0 }, start) {
    if (this.#isSubscribed) await this.#end();
    [this.#commit, this.#processingMs] = [commit, processing_ms];
    this.#refusal = new Promise((resolve) => {
      this.#refuse = resolve;
    });
    try {
      await start();
      this.#isSubscribed = true;
    } catch (error) {
      this.#refuse(true);
      throw error;
    }
  }

  async #end() {
    this.#refuse(true);
    await this.#consumer.unsubscribe();
    this.#isSubscribed = false;
    this.#processed.clear();
  }

  /** Return the end of what comes before, and a function that ends the caller's own part. */
  #queued() {
    const before = this.#last;
    let end = (_) => {};
    const own = new Promise((resolve) => {
      end = resolve;
    });
    this.#last = Promise.all([before, own]);
    return /** @type {const} */ ([before, end]);
  }

  /** Run after everything that was begun before. */
  async #exclusively(command) {
    const [before, end] = this.#queued();
    await before;
    try {
      return await command();
    } finally {
      end(undefined);
    }
  }

  /** Return whether the commit has not failed. */
  async #tryCommit(how, offsets) {
    try {
      await this.#commitNow(how, offsets);
      return true;
    } catch (error) {
      this.failed("commit", error);
      return false;
    }
  }

  async #commitNow(how, offsets) {
    const invokeNs = monotonicNs();
    const told = (error) =>
      this.#report(how, offsets, invokeNs, monotonicNs(), error);
    const committing = this.#consumer.commit(offsets);
    if (how === "async") {
      committing.then(
        () => told(null),
        (error) => told(error),
      );
      return;
    }
    try {
      await committing;
    } catch (error) {
      if (!(error instanceof Unsupported)) told(error);
      throw error;
    }
    told(null);
  }

  #report(how, offsets, invoke_ns, complete_ns, error) {
    const failure = error && { error: this.#consumer.describe(error).name };
    this.#output.event("offsets_committed", {
      offsets,
      success: error === null,
      how,
      invoke_ns,
      complete_ns,
      ...failure,
    });
  }

  #consumed({ topic, partition }, records, polledNs) {
    const count = records.length;
    const offsets = records.map(({ offset }) => offset);
    const columns = {
      topic,
      partition,
      count,
      minOffset: offsets.reduce((least, each) => (each < least ? each : least)),
      maxOffset: offsets.reduce((most, each) => (each > most ? each : most)),
      offsets,
      values: records.map(({ value }) => value),
      keys: records.map(({ key }) => key),
      leader_epochs: records.map(({ leaderEpoch = -1 }) => leaderEpoch),
    };
    const partitions = [columns];
    this.#output.event("records_consumed", {
      count,
      partitions,
      polled_ns: polledNs,
    });
  }

  #givesUp(name) {
    this.#afterTurn(() => {
      const partitions = [...this.#owned.values()];
      if (partitions.length === 0) return;
      this.#output.event(name, { partitions });
      for (const key of this.#owned.keys()) this.#processed.delete(key);
      this.#owned.clear();
    });
  }

  /** Report what happened during a turn after it: the records of the turn were taken before. */
  #afterTurn(happened) {
    if (this.#isWorking) this.#later.push(happened);
    else happened();
  }
}

function keyOf({ topic, partition }) {
  return `${topic}-${partition}`;
}
