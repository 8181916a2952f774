/** What a program supplies for transactions: the transactional producer of one client. */

/** What the client lets the application do after an error: the same call again, abort, or close the producer. */
export const REPEAT = "repeat";
export const ABORT = "abort";
export const CLOSE = "close";
/** Abort, although a commit before may have succeeded. */
export const ABORT_UNSURE = "abort, unsure";

/**
 * The transactional producer of a client. Its records are sent with `send` of the adapter that owns it. A call waits at
 * most as long as max.block.ms, or as the client's own limit. Its error is the client's.
 */
export class TransactionalAdapter {
  /** The longest that a call may take whose client has no limit of its own. */
  limitMs = Infinity;

  /** Begin a transaction, on a producer that is prepared for it. */
  async beginTransaction() {
    throw new Error("not implemented");
  }

  async commitTransaction() {
    throw new Error("not implemented");
  }

  async abortTransaction() {
    throw new Error("not implemented");
  }

  /** Close the producer without waiting for its records, and build another one with the same settings. */
  async renew() {
    throw new Error("not implemented");
  }

  /**
   * What the client lets the application do after an error of a call.
   *
   * @param {any} error
   * @param {string} call its name in the contract
   * @returns {string}
   */
  wayOut(error, call) {
    return CLOSE;
  }

  /**
   * The client's own name for an error.
   *
   * @param {any} error
   * @returns {string}
   */
  nameOf(error) {
    return error.name;
  }
}
