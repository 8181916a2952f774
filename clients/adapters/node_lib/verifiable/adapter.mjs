/** What a program supplies: one client, as an adapter with four methods. */

/** Thrown by `configure` if the client itself rejects these settings. */
export class ConfigRefused extends Error {
  name = "ConfigRefused";
}

/**
 * One record to send, and the object that receives its result, once, now or later.
 *
 * @typedef {object} Outgoing
 * @property {string | null} key
 * @property {string} value
 * @property {number | null} partition if null, the client chooses
 * @property {import("./output.mjs").Result} result
 */

/** One client, as the contract defines it. An error from a method is fatal: a defect of the adapter. */
export class Adapter {
  client = "";
  clientVersion = "";
  /** @type {string | null} */
  libraryVersion = null;
  language = "javascript";
  features = ["producer"];
  /** @type {import("./consumer.mjs").ConsumerAdapter | null} used instead of the methods below to consume */
  consumer = null;
  /** @type {import("./transactional.mjs").TransactionalAdapter | null} of a client with transactions */
  transactions = null;

  /**
   * Build the client from settings in the Java names.
   *
   * Returns `{ applied, notSet }`: Java name -> [own name, value], and Java name -> why it cannot be set. Every
   * name is in one of them. Throws ConfigRefused if the client rejects them. No other error counts as a rejection.
   *
   * An adapter with the feature `client_config` also gets settings under the client's own names, and returns
   * `clientNotSet`: such a name -> why it is not applied.
   *
   * @param {Record<string, string | number | boolean>} config
   * @param {Record<string, string>} clientConfig
   * @returns {Promise<{ applied: object, notSet: object, clientNotSet?: object }>}
   */
  async configure(config, clientConfig) {
    throw new Error("not implemented");
  }

  /**
   * Pass records to the client, in order. Do not wait for their results.
   *
   * @param {string} topic
   * @param {Outgoing[]} records
   */
  async send(topic, records) {
    throw new Error("not implemented");
  }

  /**
   * Flush the client, for at most `timeoutMs`. True if it reports that it is done.
   *
   * The answer is passed on unchecked. The harness determines whether all records have results then.
   *
   * @param {number} timeoutMs
   * @returns {Promise<boolean>}
   */
  async flush(timeoutMs) {
    throw new Error("not implemented");
  }

  /**
   * Close the client within `timeoutMs`. True if it reports that every record has a result.
   *
   * @param {number} timeoutMs
   * @returns {Promise<boolean>}
   */
  async close(timeoutMs) {
    throw new Error("not implemented");
  }
}
