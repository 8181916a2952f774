/** Waiting for promises with a timeout. */

/**
 * Return the result of `promise`, or false if it takes longer than `timeoutMs`. It then continues unobserved.
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

/** Pending promises, for clients that cannot flush. */
export class Pending {
  /** @type {Set<Promise<void>>} */
  #underWay = new Set();

  /** @param {Promise<void>} promise one that is never rejected */
  add(promise) {
    this.#underWay.add(promise);
    promise.then(() => this.#underWay.delete(promise));
  }

  /**
   * Whether all promises that were added before are settled within `timeoutMs`.
   *
   * @param {number} timeoutMs
   */
  async done(timeoutMs) {
    const all = Promise.all(this.#underWay).then(() => true);
    return within(all, timeoutMs);
  }
}
