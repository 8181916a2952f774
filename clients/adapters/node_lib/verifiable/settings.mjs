/** Translates settings from the Java names to a client's own options, and reports each as applied or not set. */

/** Thrown by a function that reads a value, if the client does not support the value. The message says why. */
export class CannotSet extends Error {
  name = "CannotSet";
}

export const text = (value) => String(value);
export const list = (value) => String(value).split(",");

export function whole(value) {
  if (Number.isInteger(value) && value >= 0) return value;
  throw new CannotSet(`${JSON.stringify(value)} is not a whole number`);
}

export function truth(value) {
  if (typeof value === "boolean") return value;
  throw new CannotSet(`${JSON.stringify(value)} is neither true nor false`);
}

/** Node clients use Kafka's own numbers. */
export function acks(value) {
  const numbers = { all: -1, [-1]: -1, 0: 0, 1: 1 };
  if (Object.hasOwn(numbers, value)) return numbers[value];
  throw new CannotSet(`${JSON.stringify(value)} is not one of all, -1, 0 and 1`);
}

const ASSIGNORS = {
  RangeAssignor: "range",
  RoundRobinAssignor: "roundrobin",
  StickyAssignor: "sticky",
  CooperativeStickyAssignor: "cooperative-sticky",
};

/** Return the short name of one of Java's assignors, by its class or short name: "range", for example. */
export function assignor(name) {
  const last = name.trim().split(".").at(-1);
  return ASSIGNORS[last] ?? last;
}

/**
 * Translate settings in Java names to options of the client, and to the contract's report of each.
 *
 * @param {Record<string, string | number | boolean>} config
 * @param {Map<string, [string, (value: any) => any]>} options Java name -> the client's, with dots for groups, or
 *   several with commas between, and the function that reads the value, or throws CannotSet
 * @param {Map<string, string>} absent Java name -> why the client has no equivalent
 */
export function translate(config, options, absent) {
  const own = {};
  const applied = {};
  const notSet = {};
  for (const [name, value] of Object.entries(config)) {
    const [paths, read] = options.get(name) ?? [];
    if (paths === undefined) {
      notSet[name] = absent.get(name) ?? "the client has no such setting";
      continue;
    }
    try {
      const given = read(value);
      for (const path of paths.split(", ")) put(own, path, given);
      applied[name] = [paths, Array.isArray(given) ? given.join(",") : given];
    } catch (error) {
      if (!(error instanceof CannotSet)) throw error;
      notSet[name] = error.message;
    }
  }
  return { own, applied, notSet };
}

/**
 * Whether a version precedes another one, which is given by its first two numbers.
 *
 * @param {string} version
 * @param {[number, number]} other
 */
export function isBefore(version, [major, minor]) {
  const [itsMajor, itsMinor] = version.split(".").map(Number);
  return itsMajor < major || (itsMajor === major && itsMinor < minor);
}

/**
 * Add settings under the client's own names to its options. A value is read as JSON, or else as text.
 *
 * Returns the names that are not applied, with the reason: the harness sets them, or the client does not have them.
 *
 * @param {object} own the options, with groups
 * @param {Record<string, string>} given path -> text
 * @param {string[]} known the paths that the client has
 */
export function addOwn(own, given, known) {
  const clientNotSet = {};
  for (const [path, value] of Object.entries(given)) {
    if (!known.includes(path)) {
      clientNotSet[path] = "the client has no such option";
    } else if (at(own, path) !== undefined) {
      clientNotSet[path] = "the harness sets it";
    } else {
      put(own, path, literal(value));
    }
  }
  return clientNotSet;
}

function literal(value) {
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function at(own, path) {
  return path.split(".").reduce((within, name) => within?.[name], own);
}

function put(own, path, value) {
  const groups = path.split(".");
  const last = groups.pop();
  const group = groups.reduce((within, name) => (within[name] ??= {}), own);
  group[last] = value;
}
