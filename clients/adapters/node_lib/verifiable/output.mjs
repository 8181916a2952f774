/** The output: numbered events on a private stdout, and the results of sends grouped into columns. */

import { writeSync } from "node:fs";

const STDOUT = 1;
const NS_PER_MS = 1_000_000n;
export const RESULTS_MAX_ROWS = 500;

// Everything that is printed (console.log, a library's log) goes to stderr. Node's own stream is never created: it
// would also make the descriptor non-blocking, so that a write might be partial.
Object.defineProperty(process, "stdout", { get: () => process.stderr });

/**
 * Format JSON with a BigInt as an integer with all digits: nanoseconds and offsets do not fit into a number.
 *
 * @param {unknown} value
 * @returns {string}
 */
export function encode(value) {
  if (typeof value === "bigint") return value.toString();
  if (Array.isArray(value)) return `[${value.map(encode).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const members = Object.entries(value).map(
      ([name, member]) => `${JSON.stringify(name)}:${encode(member)}`,
    );
    return `{${members.join(",")}}`;
  }
  return JSON.stringify(value ?? null);
}

/** The current time in the common time base of clients, witness and faults: CLOCK_MONOTONIC. */
export function monotonicNs() {
  return process.hrtime.bigint();
}

/** Writes events, numbered without gaps. */
export class Output {
  #seq = 0;
  #ended = false;

  /**
   * Write one event. Nothing is written after the `last` one.
   *
   * @param {string} name
   * @param {object} fields
   * @param {boolean} last
   */
  event(name, fields, last = false) {
    if (this.#ended) return;
    this.#ended = last;
    const stamp = {
      seq: this.#seq++,
      mono_ns: monotonicNs(),
      wall_ns: BigInt(Date.now()) * NS_PER_MS,
    };
    this.#write(Buffer.from(`${encode({ name, ...stamp, ...fields })}\n`));
  }

  /** @param {Buffer} line */
  #write(line) {
    try {
      for (let written = 0; written < line.length;) {
        written += writeSync(STDOUT, line, written);
      }
    } catch (error) {
      if (error.code !== "EPIPE") throw error;
      process.exit(1); // the harness has exited, so nothing reads the events
    }
  }
}

/** Receives the result of one record. It is created just before the record is passed to the client. */
export class Result {
  #results;
  #id;
  #n;
  #invokeNs = monotonicNs();

  /**
   * @param {Pick<Results, "add">} results
   * @param {number} id
   * @param {number} n
   */
  constructor(results, id, n) {
    this.#results = results;
    this.#id = id;
    this.#n = n;
  }

  /**
   * Certainly written. -1 for what the client does not know.
   *
   * @param {number} partition
   * @param {bigint | number} offset
   */
  ok(partition, offset) {
    this.#put("ok", null, partition, offset);
  }

  /**
   * Certainly not written, and never will be.
   *
   * @param {string} error
   */
  fail(error) {
    this.#put("fail", error, -1, -1);
  }

  /**
   * Given up. It is unknown whether the record was written.
   *
   * @param {string} error
   */
  info(error) {
    this.#put("info", error, -1, -1);
  }

  #put(outcome, error, partition, offset) {
    this.#results.add(this.#id, {
      outcome,
      error,
      invoke_ns: this.#invokeNs,
      complete_ns: monotonicNs(),
      records: this.#n,
      partition,
      offset,
    });
  }
}

/** Groups the results of sends into columns: one line per command, at intervals or when it is full. */
export class Results {
  count = 0;
  #output;
  /** @type {Map<string, Map<number, object[]>>} the rows of each command, by operation and id */
  #rows = new Map();

  /** @param {Pick<Output, "event">} output */
  constructor(output) {
    this.#output = output;
  }

  /**
   * Store one row. Its line is written later, or now if it is full.
   *
   * @param {number} id
   * @param {object} row
   */
  add(id, row, op = "send") {
    this.count++;
    const ofOp = this.#rows.get(op) ?? new Map();
    const rows = ofOp.get(id) ?? [];
    rows.push(row);
    this.#rows.set(op, ofOp.set(id, rows));
    if (rows.length >= RESULTS_MAX_ROWS) this.#write(op, id, rows);
  }

  /** Write all stored rows. */
  write() {
    for (const [op, ofOp] of this.#rows)
      for (const [id, rows] of ofOp) this.#write(op, id, rows);
  }

  #write(op, id, rows) {
    this.#rows.get(op)?.delete(id);
    const columns = Object.keys(rows[0]).map((name) => [
      name,
      rows.map((row) => row[name]),
    ]);
    const named = Object.fromEntries(columns);
    this.#output.event("op_complete", { op, id, ...named });
  }
}
