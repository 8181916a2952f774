/** What a program supplies to consume: the consumer of one client. */

/**
 * A partition of a topic, and one of its offsets.
 *
 * @typedef {{ topic: string, partition: number }} Place
 * @typedef {Place & { offset: number | bigint }} Position
 */

/** The special offsets of a seek, as in ListOffsets. As the offset of an assigned partition, LATEST means none. */
export const LATEST = -1;
export const EARLIEST = -2;

/** The client cannot do what a command says. */
export class Unsupported extends Error {
  name = "Unsupported";
}

/**
 * The consumer of a client. An error from a method is the client's, which the application survives. A method that is
 * not overridden is a call that the client does not have.
 */
export class ConsumerAdapter {
  /**
   * Build the consumer, as `configure` of Adapter does.
   *
   * @param {Record<string, string | number | boolean>} config
   * @param {Record<string, string>} clientConfig
   * @param {import("./member.mjs").Member} member the application that gets the records, and learns of rebalances
   * @returns {Promise<{ applied: object, notSet: object, clientNotSet?: object }>}
   */
  async configure(config, clientConfig, member) {
    throw new Error("not implemented");
  }

  /**
   * Subscribe to topics, or to those that match a pattern that is not null, in place of an earlier subscription.
   *
   * @param {string[]} topics
   * @param {string | null} pattern
   * @param {string} commit how the application commits
   */
  async subscribe(topics, pattern, commit) {
    throw new Unsupported();
  }

  /**
   * Assign partitions without a group. One with an offset other than LATEST is read from there.
   *
   * @param {Position[]} partitions
   * @param {string} commit
   */
  async assign(partitions, commit) {
    throw new Unsupported();
  }

  /** Give up subscription and assignment. The member refuses records until this is done. */
  async unsubscribe() {
    throw new Unsupported();
  }

  /** @param {Position} position */
  async seek(position) {
    throw new Unsupported();
  }

  /** @param {Place[]} partitions */
  async pause(partitions) {
    throw new Unsupported();
  }

  /** @param {Place[]} partitions */
  async resume(partitions) {
    throw new Unsupported();
  }

  /**
   * Commit. The promise is settled with the result.
   *
   * @param {Position[]} offsets
   */
  async commit(offsets) {
    throw new Unsupported();
  }

  /** Close the client. The member refuses records meanwhile. */
  async close() {
    throw new Error("not implemented");
  }

  /**
   * The client's own name for an error, and whether it calls it retriable, or null if it does not say so.
   *
   * @param {any} error
   * @returns {{ name: string, retriable: boolean | null }}
   */
  describe(error) {
    return { name: error.name, retriable: null };
  }
}
