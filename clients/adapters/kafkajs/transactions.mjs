/**
 * kafkajs's transactional producer, as its documentation uses it: `producer.transaction()`, and after any error of a
 * send or a commit an abort. kafkajs refuses the abort after a failed commit, so the producer is then closed.
 */

import {
  ABORT_UNSURE,
  CLOSE,
  REPEAT,
  TransactionalAdapter,
  within,
} from "./verifiable/index.mjs";

/** How long the next producer waits until the old one has disconnected. */
const DISCONNECT_MS = 5_000;

export class KafkaJsTransactions extends TransactionalAdapter {
  #connected;
  #isConnected = false;
  /** @type {() => any} makes a producer */
  #create = () => {};
  #producer;
  #transaction;

  /** Make producers with this function from now on. */
  createWith(create) {
    this.#create = create;
    this.#build();
  }

  /** What sends records: the transaction, or the producer if there is none. */
  get sender() {
    return this.#transaction ?? this.#producer;
  }

  get connected() {
    return this.#connected;
  }

  #build() {
    this.#producer = this.#create();
    this.#transaction = undefined;
    this.#isConnected = false;
    this.#connected = this.#producer.connect();
    this.#connected.catch((error) => console.error(error)); // each send reports it too
  }

  async beginTransaction() {
    await this.#connected;
    this.#isConnected = true;
    this.#transaction = await this.#producer.transaction();
  }

  async commitTransaction() {
    await this.#transaction.commit();
  }

  async abortTransaction() {
    await this.#transaction.abort();
  }

  async renew() {
    const gone = this.disconnect().catch((error) => console.error(error));
    await within(gone, DISCONNECT_MS);
    this.#build();
  }

  async disconnect() {
    await this.#producer.disconnect();
  }

  wayOut(error, call) {
    if (call === "commit_transaction") return ABORT_UNSURE;
    const canRepeat = call === "begin_transaction" && this.#isConnected;
    return canRepeat && error.retriable ? REPEAT : CLOSE;
  }

  nameOf(error) {
    return error.type ?? error.name;
  }
}
