/**
 * The application of a transactional producer: one transaction for each command, as the client's documentation has it.
 *
 * It begins, sends, and waits for the results of its records: the promises of Node's clients tell them, and an end does
 * not look at them. It aborts if a record has failed. What it does after an error is what the client lets it do
 * (`wayOut`). It never sends a record a second time: the next command begins the next transaction.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { monotonicNs, Result } from "./output.mjs";
import { ABORT, ABORT_UNSURE, CLOSE, REPEAT } from "./transactional.mjs";
import { within } from "./waiting.mjs";

/** How often a call is repeated whose result is unknown. */
const ATTEMPTS = 5;
/** A client whose calls fail at once would otherwise write events without end. */
const ERROR_PAUSE_MS = 100;
/** How long the application waits for the results of a transaction's records, before it closes the producer. */
const RESULTS_MS = 10_000;
const COMMIT = "commit";
const NOWHERE = [-1, -1];

/** What the way out of an error tells about the call. */
const OUTCOMES = {
  [REPEAT]: "info",
  [ABORT]: "fail",
  [ABORT_UNSURE]: "info",
  [CLOSE]: "info",
};

/** An error of the application itself: the client has not returned. */
class NotReturned extends Error {
  name = "the client did not return";
}

export class Transactor {
  #adapter;
  #client;
  #output;
  #hurried;
  #isHurried = false;
  #id = -1;

  /**
   * @param {import("./adapter.mjs").Adapter} adapter
   * @param {Pick<import("./output.mjs").Output, "event">} output
   * @param {Promise<unknown>} hurried settled once the program is to end
   */
  constructor(adapter, output, hurried) {
    this.#adapter = adapter;
    this.#client = adapter.transactions;
    this.#output = output;
    this.#hurried = hurried.then(() => {
      this.#isHurried = true;
      return false;
    });
  }

  /**
   * Perform one transaction. Return a row of each of its records.
   *
   * @param {Record<string, any>} command
   * @returns {Promise<object[]>}
   */
  async transact(command) {
    const { id, first, values } = command;
    this.#id = id;
    const count = values.length;
    this.#output.event("op_invoke", { op: "transact", id, first, count });
    const invoke_ns = monotonicNs();
    const sent = new Sent();
    const [outcome, error] = await this.#end(command, sent);
    const complete_ns = monotonicNs();
    return values.map((_, index) => {
      const records = first + index;
      const [partition, offset] = sent.places.get(records) ?? NOWHERE;
      return { outcome, error, invoke_ns, complete_ns, records, partition, offset };
    });
  }

  /** The outcome, and the error that kept the transaction from the end that was asked for. */
  async #end(command, sent) {
    const isCommit = command.end === COMMIT;
    // Nothing is committed without a commit, so the records of a transaction that lacks one are not visible.
    const withoutCommit = isCommit ? "fail" : "ok";
    const begun = await this.#attempted("begin_transaction", () =>
      this.#client.beginTransaction(),
    );
    if (begun !== null) {
      await this.#renew();
      return [withoutCommit, isCommit ? this.#nameOf(begun) : null];
    }
    if (!(await this.#send(command, sent))) {
      await this.#renew();
      return [withoutCommit, isCommit ? "the client is not done" : null];
    }
    if (isCommit && sent.error === null) return this.#commit();
    await this.#abort();
    return [withoutCommit, sent.error];
  }

  /** Send the records. True if all have a result in time. */
  async #send({ topic, first, keys, values, partitions, id }, sent) {
    const records = values.map((value, index) => ({
      key: keys[index],
      value,
      partition: partitions?.[index] ?? null,
      result: new Result(sent, id, first + index),
    }));
    await this.#adapter.send(topic, records);
    const flushed = within(this.#adapter.flush(RESULTS_MS), RESULTS_MS);
    return Promise.race([flushed, this.#hurried]);
  }

  async #commit() {
    const call = "commit_transaction";
    const error = await this.#attempted(call, () =>
      this.#client.commitTransaction(),
    );
    if (error === null) return ["ok", null];
    const way = this.#wayOut(error, call);
    if (way === ABORT || way === ABORT_UNSURE) {
      const isAborted = await this.#abort();
      // With ABORT the client says that it did not commit, and never will.
      if (isAborted && way === ABORT) return ["fail", this.#nameOf(error)];
    } else {
      await this.#renew();
    }
    return ["info", this.#nameOf(error)];
  }

  async #abort() {
    const error = await this.#attempted("abort_transaction", () =>
      this.#client.abortTransaction(),
    );
    if (error !== null) await this.#renew();
    return error === null;
  }

  /** Go on with another producer, unless the program ends. */
  async #renew() {
    if (this.#isHurried) return;
    await this.#client.renew();
    await sleep(ERROR_PAUSE_MS);
  }

  /** Make a call, and repeat it as long as the client asks for that. Return the last error, or null. */
  async #attempted(call, make) {
    let error = null;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      error = await this.#called(call, make);
      const isOver = error === null || this.#isHurried;
      if (isOver || this.#wayOut(error, call) !== REPEAT) return error;
      await sleep(ERROR_PAUSE_MS);
    }
    return error;
  }

  async #called(op, make) {
    const id = this.#id;
    this.#output.event("op_invoke", { op, id });
    const invokeNs = monotonicNs();
    const error = await this.#made(make);
    this.#output.event("op_complete", {
      op,
      id,
      outcome: [error === null ? "ok" : OUTCOMES[this.#wayOut(error, op)]],
      error: [error === null ? null : this.#nameOf(error)],
      invoke_ns: [invokeNs],
      complete_ns: [monotonicNs()],
    });
    return error;
  }

  async #made(make) {
    const making = make().then(
      () => null,
      (error) => error,
    );
    const { limitMs } = this.#client;
    const limited = limitMs < Infinity ? within(making, limitMs) : making;
    const told = await Promise.race([limited, this.#hurried]);
    return told === false ? new NotReturned() : told;
  }

  #wayOut(error, call) {
    if (error instanceof NotReturned) return CLOSE;
    return this.#client.wayOut(error, call);
  }

  #nameOf(error) {
    if (error instanceof NotReturned) return error.name;
    return this.#client.nameOf(error);
  }
}

/** Where the records of one transaction were written, as far as the client has told, and the first error. */
class Sent {
  /** @type {Map<number, [number, number | bigint]>} */
  places = new Map();
  /** @type {string | null} */
  error = null;

  add(_, { outcome, error, records, partition, offset }) {
    if (outcome === "ok") this.places.set(records, [partition, offset]);
    else this.error ??= error;
  }
}
