/** The base of adapters whose client returns a promise for each send, and cannot flush. */

import { Adapter } from "./adapter.mjs";
import { Pending, within } from "./waiting.mjs";

/** A subclass supplies `configure`, `deliver` and `disconnect`. */
export class PromisingAdapter extends Adapter {
  #pending = new Pending();

  /**
   * Pass records to the client at once, all in one call, and record their results once its promise is settled. An
   * exception from this method is a defect of the adapter, never an error of the client.
   *
   * @param {string} topic
   * @param {import("./adapter.mjs").Outgoing[]} records
   * @returns {Promise<void>}
   */
  async deliver(topic, records) {
    throw new Error("not implemented");
  }

  /**
   * Close the client's connections.
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
