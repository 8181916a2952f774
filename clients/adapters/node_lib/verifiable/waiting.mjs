/** Waiting for promises, but not for ever. */

/**
 * What `promise` gives, or false where it has not given it within `timeoutMs`; it then goes on unheeded.
 *
 * @template T
 * @param {Promise<T>} promise
 * @param {number} timeoutMs
 * @returns {Promise<T | false>}
 */
export async function within(promise, timeoutMs) {
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(() => resolve(false), Math.max(0, timeoutMs));
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Promises that are under way, for clients that have no flush of their own. */
export class Pending {
  /** @type {Set<Promise<void>>} */
  #underWay = new Set();

  /** @param {Promise<void>} promise one that is never rejected */
  add(promise) {
    this.#underWay.add(promise);
    promise.then(() => this.#underWay.delete(promise));
  }

  /**
   * Whether everything that was added before is done within `timeoutMs`.
   *
   * @param {number} timeoutMs
   */
  async done(timeoutMs) {
    const all = Promise.all(this.#underWay).then(() => true);
    return within(all, timeoutMs);
  }
}
