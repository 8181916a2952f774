/** What a program supplies: one client, behind four methods. */

/** Thrown by `configure`: the client itself says that it cannot be built from these settings. */
export class ConfigRefused extends Error {
  name = "ConfigRefused";
}

/**
 * One record on its way: what is to be sent, and the place where its result is put, once, now or later.
 *
 * @typedef {object} Outgoing
 * @property {string | null} key
 * @property {string} value
 * @property {number | null} partition null leaves the choice to the client
 * @property {import("./output.mjs").Result} result
 */

/** One client as the contract sees it. Any error that leaves a method is fatal: it is the adapter's defect. */
export class Adapter {
  client = "";
  clientVersion = "";
  /** @type {string | null} */
  libraryVersion = null;
  language = "javascript";
  features = ["producer"];

  /**
   * Build the client from settings in the Java names.
   *
   * Returns `{ applied, notSet }`: Java name -> [own name, value], and Java name -> why it cannot be set; every
   * name is in one of them. Throws ConfigRefused if the client refuses them; no other error is taken for a refusal.
   *
   * @param {Record<string, string | number | boolean>} config
   */
  async configure(config) {
    throw new Error("not implemented");
  }

  /**
   * Hand records to the client, in order; do not wait for their results.
   *
   * @param {string} topic
   * @param {Outgoing[]} records
   */
  async send(topic, records) {
    throw new Error("not implemented");
  }

  /**
   * Have the client flush, at most `timeoutMs` long; true if it says that all is done.
   *
   * Its word is passed on, true or not: whether all records have results then is for the harness to see.
   *
   * @param {number} timeoutMs
   * @returns {Promise<boolean>}
   */
  async flush(timeoutMs) {
    throw new Error("not implemented");
  }

  /**
   * Close the client within `timeoutMs`; true if it says that every record has a result.
   *
   * @param {number} timeoutMs
   * @returns {Promise<boolean>}
   */
  async close(timeoutMs) {
    throw new Error("not implemented");
  }
}
