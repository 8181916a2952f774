/** What adapters share whose client gives a promise for each call of its send, and has no flush of its own. */

import { Adapter } from "./adapter.mjs";
import { Pending, within } from "./waiting.mjs";

/** A subclass supplies `configure`, `deliver` and `disconnect`. */
export class PromisingAdapter extends Adapter {
  #pending = new Pending();

  /**
   * Hand records to the client at once, all in one call, and put their results when its promise is settled. What is
   * thrown out of it is the adapter's defect, and never an error of the client.
   *
   * @param {string} topic
   * @param {import("./adapter.mjs").Outgoing[]} records
   * @returns {Promise<void>}
   */
  async deliver(topic, records) {
    throw new Error("not implemented");
  }

  /**
   * Have the client close its connections.
   *
   * @returns {Promise<unknown>}
   */
  async disconnect() {
    throw new Error("not implemented");
  }

  async send(topic, records) {
    this.#pending.add(this.deliver(topic, records));
  }

  async flush(timeoutMs) {
    return this.#pending.done(timeoutMs);
  }

  async close(timeoutMs) {
    const deadline = performance.now() + timeoutMs;
    const done = await this.#pending.done(timeoutMs);
    const disconnected = this.disconnect().catch((error) =>
      console.error(error),
    );
    await within(disconnected, deadline - performance.now());
    return done;
  }
}
