/**
 * The transactional producer of @platformatic/kafka, as its documentation uses it: `beginTransaction()`, and after any
 * error of a send or a commit an abort. It repeats its requests without end, so the application limits the calls.
 */

import {
  ABORT_UNSURE,
  CLOSE,
  TransactionalAdapter,
  within,
} from "./verifiable/index.mjs";

/** How long the next producer waits until the old one is closed. */
const CLOSE_MS = 5_000;

export class PlatformaticTransactions extends TransactionalAdapter {
  /** @type {() => any} makes a producer */
  #create;
  /** @type {(error: any) => string} */
  #name;
  #transaction;
  producer;

  /**
   * @param {() => any} create makes a producer
   * @param {(error: any) => string} name the client's name of an error
   * @param {number} limitMs
   */
  constructor(create, name, limitMs) {
    super();
    this.#create = create;
    this.#name = name;
    this.limitMs = limitMs;
    this.producer = create();
  }

  /** What sends records: the transaction, or the producer if there is none. */
  get sender() {
    return this.#transaction ?? this.producer;
  }

  async beginTransaction() {
    this.#transaction = await this.producer.beginTransaction();
  }

  async commitTransaction() {
    await this.#transaction.commit();
  }

  async abortTransaction() {
    await this.#transaction.abort();
  }

  async renew() {
    const closed = this.producer
      .close(true)
      .catch((error) => console.error(error));
    await within(closed, CLOSE_MS);
    this.#transaction = undefined;
    this.producer = this.#create();
  }

  wayOut(error, call) {
    return call === "commit_transaction" ? ABORT_UNSURE : CLOSE;
  }

  nameOf(error) {
    return this.#name(error);
  }
}
