/** The input: reads whole lines from a stream and parses them as commands. */

const NEWLINE = 0x0a;

/** The commands, and the fields that they require. */
export const COMMANDS = new Map([
  ["configure", ["id", "config"]],
  ["produce", ["id", "topic", "first", "keys", "values"]],
  [
    "transact",
    ["id", "topic", "first", "keys", "values", "end", "flush"],
  ],
  ["flush", ["id", "timeout_ms"]],
  ["close", ["id", "timeout_ms"]],
]);

/** The commands to a consumer, and the fields that they require. */
export const CONSUMER_COMMANDS = new Map([
  ["subscribe", ["id"]],
  ["assign", ["id", "partitions"]],
  ["unsubscribe", ["id"]],
  ["seek", ["id", "position"]],
  ["pause", ["id", "partitions"]],
  ["resume", ["id", "partitions"]],
  ["commit", ["id"]],
  ["process", ["id", "processing_ms"]],
  ["throw", ["id", "callback"]],
  ["wakeup", ["id"]],
]);

/**
 * Yield the lines of a stream of buffers. `node:readline` also splits at U+2028 and U+2029, which JSON allows.
 *
 * @param {AsyncIterable<Buffer>} stream
 */
export async function* lines(stream) {
  /** @type {Buffer[]} */
  let parts = [];
  for await (const data of stream) {
    let start = 0;
    for (
      let end = data.indexOf(NEWLINE);
      end >= 0;
      end = data.indexOf(NEWLINE, start)
    ) {
      const line = Buffer.concat([...parts, data.subarray(start, end)]);
      parts = [];
      start = end + 1;
      yield line;
    }
    parts.push(data.subarray(start));
  }
  const rest = Buffer.concat(parts);
  if (rest.length > 0) yield rest;
}

/**
 * Return the command in a line, or null if there is none, or a known one lacks a field.
 *
 * @param {Buffer} line
 * @returns {Record<string, any> | null}
 */
export function parse(line) {
  let command;
  try {
    command = JSON.parse(
      new TextDecoder("utf-8", { fatal: true }).decode(line),
    );
  } catch {
    return null;
  }
  if (typeof command?.cmd !== "string") return null;
  const fields =
    COMMANDS.get(command.cmd) ?? CONSUMER_COMMANDS.get(command.cmd) ?? [];
  return fields.every((field) => Object.hasOwn(command, field))
    ? command
    : null;
}
