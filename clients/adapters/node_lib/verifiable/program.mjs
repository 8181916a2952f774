/**
 * The lifecycle of one client process: startup, configure, produce and flush, close.
 *
 * Everything runs on Node's one event loop, as the client does: commands are executed in order, and timers write
 * results and the heartbeat. If something blocks the loop, the heartbeat stops. A defect of the program itself ends
 * the process with a `fatal` event: exit code 2 for a line that is not a command, else 1.
 */

import { CONSUMER_COMMANDS, lines, parse } from "./commands.mjs";
import { Member } from "./member.mjs";
import { monotonicNs, Output, Result, Results } from "./output.mjs";
import { Transactor } from "./transactor.mjs";
import { within } from "./waiting.mjs";

const CONTRACT_VERSION = 2;
const RESULTS_INTERVAL_MS = 20;
const STATS_INTERVAL_MS = 1_000;
const SHOWN_BYTES = 200;

/** The timeout of a close without a command: end of stdin, SIGTERM, SIGINT. */
const UNASKED_CLOSE = { cmd: "close", id: -1, timeout_ms: 5_000 };

class Program {
  #adapter;
  #output;
  #results;
  #sent = 0;
  #configured = false;
  /** @type {Member | null} the application of a consumer */
  #member = null;
  /** @type {Record<string, any>[]} */
  #commands = [];
  #wake = () => {};
  #hurried = false; // after a signal: queued commands are not started
  #hurry = () => {};
  #signal;

  /**
   * @param {import("./adapter.mjs").Adapter} adapter
   * @param {Output} output
   */
  constructor(adapter, output) {
    this.#adapter = adapter;
    this.#output = output;
    this.#results = new Results(output);
    this.#signal = new Promise((resolve) => {
      this.#hurry = () => {
        this.#hurried = true;
        resolve(false);
        this.#take(UNASKED_CLOSE);
      };
    });
  }

  /** Run until closed. */
  async run() {
    process.on("uncaughtException", (error) => this.#uncaught(error));
    process.on("SIGTERM", this.#hurry);
    process.on("SIGINT", this.#hurry);
    const adapter = this.#adapter;
    this.#output.event("startup_complete", {
      client: adapter.client,
      client_version: adapter.clientVersion,
      library_version: adapter.libraryVersion,
      language: adapter.language,
      features: adapter.features,
      contract_version: CONTRACT_VERSION,
    });
    setInterval(() => this.#results.write(), RESULTS_INTERVAL_MS);
    setInterval(() => this.#beat(), STATS_INTERVAL_MS);
    try {
      await Promise.all([this.#read(), this.#obey()]);
    } catch (error) {
      this.#defect(error);
    }
  }

  async #obey() {
    const handlers = new Map([
      ["configure", (command) => this.#configure(command)],
      ["produce", (command) => this.#produce(command)],
      ["flush", (command) => this.#flush(command)],
      ["close", (command) => this.#close(command)],
    ]);
    if (this.#adapter.features.includes("transactions"))
      handlers.set("transact", (command) => this.#transact(command));
    for (;;) {
      const command = await this.#next();
      const handler = handlers.get(command.cmd);
      const isConsumers = CONSUMER_COMMANDS.has(command.cmd);
      if (handler === undefined && !(isConsumers && this.#member)) {
        this.#unsupported(command);
      } else if (isConsumers) {
        if (!this.#hurried) await this.#member.execute(command);
      } else if (command.cmd === "close" || !this.#hurried) {
        await handler(command);
      }
      if (command.cmd === "close") return;
    }
  }

  async #next() {
    while (this.#commands.length === 0) {
      await new Promise((resolve) => {
        this.#wake = () => resolve(undefined);
      });
    }
    return this.#commands.shift();
  }

  async #configure(command) {
    if (this.#configured) throw new Error("configured twice");
    const isConsumer = command.role === "consumer";
    const adapter = isConsumer ? this.#adapter.consumer : this.#adapter;
    if (adapter === null) {
      this.#unsupported(command);
      return;
    }
    if (isConsumer) this.#member = this.#newMember(adapter);
    const { applied, notSet, clientNotSet } = await adapter.configure(
      command.config,
      command.client_config ?? {},
      this.#member,
    );
    this.#configured = true;
    this.#output.event("configured", {
      id: command.id,
      applied,
      not_set: notSet,
      client_not_set: clientNotSet ?? {},
    });
  }

  #newMember(consumer) {
    const answer = (op, id, invokeNs, error) =>
      this.#answer(op, id, invokeNs, error);
    return new Member(consumer, this.#output, answer);
  }

  #unsupported({ cmd, id = -1 }) {
    this.#output.event("unsupported", { cmd, id });
  }

  async #produce(command) {
    this.#mustBeConfigured("produce");
    if (this.#member) {
      this.#unsupported(command);
      return;
    }
    const { id, topic, first, keys, values, partitions } = command;
    const count = values.length;
    this.#output.event("op_invoke", { op: "send", id, first, count });
    this.#sent += count;
    const records = values.map((value, index) => ({
      key: keys[index],
      value,
      partition: partitions?.[index] ?? null,
      result: new Result(this.#results, id, first + index),
    }));
    await this.#adapter.send(topic, records);
  }

  async #transact(command) {
    this.#mustBeConfigured("transact");
    if (this.#member) {
      this.#unsupported(command);
      return;
    }
    this.#sent += command.values.length;
    const signal = this.#signal;
    const transactor = new Transactor(this.#adapter, this.#output, signal);
    for (const row of await transactor.transact(command))
      this.#results.add(command.id, row, "transact");
  }

  async #flush({ id, timeout_ms }) {
    this.#mustBeConfigured("flush");
    const invokeNs = this.#invoke("flush", id);
    const flushing = this.#member ? true : this.#adapter.flush(timeout_ms);
    const flushed = within(flushing, timeout_ms);
    const done = await Promise.race([flushed, this.#signal]);
    this.#complete("flush", id, invokeNs, done);
  }

  async #close({ id, timeout_ms }) {
    const invokeNs = this.#invoke("close", id);
    const closing = this.#member ?? this.#adapter;
    const done =
      !this.#configured || (await within(closing.close(timeout_ms), timeout_ms));
    this.#complete("close", id, invokeNs, done);
    this.#output.event("shutdown_complete", {}, true);
    process.exit(0); // even if the client has left timers and connections
  }

  #invoke(op, id) {
    this.#output.event("op_invoke", { op, id });
    return monotonicNs();
  }

  #complete(op, id, invokeNs, done) {
    this.#results.write();
    this.#answer(op, id, invokeNs, done ? null : "the client is not done");
  }

  /** Write the one result of a command. Without an error, it is ok. */
  #answer(op, id, invokeNs, error) {
    this.#output.event("op_complete", {
      op,
      id,
      outcome: [error === null ? "ok" : "fail"],
      error: [error],
      invoke_ns: [invokeNs],
      complete_ns: [monotonicNs()],
    });
  }

  #mustBeConfigured(command) {
    if (!this.#configured) throw new Error(`${command} before configure`);
  }

  #beat() {
    const completed = this.#results.count;
    this.#output.event("stats", { sent: this.#sent, completed });
  }

  async #read() {
    for await (const line of lines(process.stdin)) {
      const command = parse(line);
      if (command === null) {
        const shown = line.subarray(0, SHOWN_BYTES).toString();
        this.#fatal("BadCommand", `not a command: ${shown}`, 2);
      }
      this.#take(command);
    }
    this.#take(UNASKED_CLOSE);
  }

  #take(command) {
    this.#commands.push(command);
    this.#wake();
  }

  /** An exception from the client's own callback, which no code can catch: it ends any process that uses the client. */
  #uncaught(error) {
    if (!isOfThePackages(error)) this.#defect(error);
    console.error(error);
    this.#fatal("ClientCrashed", `${error.name}: ${error.message}`, 1);
  }

  #defect(error) {
    console.error(error);
    const message = String(error?.message ?? error);
    this.#fatal(error?.name ?? "Error", message, 1);
  }

  #fatal(error, message, code) {
    this.#results.write();
    this.#output.event("fatal", { error, message }, true);
    process.exit(code);
  }
}

/**
 * True if the frame that threw, apart from Node's own frames, is code of an installed package.
 *
 * @param {unknown} error
 */
function isOfThePackages(error) {
  const frames = String(error?.stack).split("\n").slice(1);
  const thrower = frames.find((frame) => !frame.includes("node:"));
  return thrower !== undefined && thrower.includes("/node_modules/");
}

/**
 * Run the program of one adapter and exit.
 *
 * @param {import("./adapter.mjs").Adapter} adapter
 */
export async function run(adapter) {
  await new Program(adapter, new Output()).run();
}
