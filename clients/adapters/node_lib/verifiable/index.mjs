/**
 * The client's half of the contract for Node programs: commands come on stdin, events go to stdout.
 *
 * Nothing but Node itself (20 or later), so that a copy of this folder is all that a program needs. It supplies an
 * `Adapter`; `run` does the rest. Import this before the client's own library: from then on whatever prints to
 * stdout prints to stderr.
 */

export { Adapter, ConfigRefused } from "./adapter.mjs";
export { placesOf, UNKNOWN } from "./places.mjs";
export { PromisingAdapter } from "./promising.mjs";
export { run } from "./program.mjs";
export {
  acks,
  CannotSet,
  isBefore,
  list,
  text,
  translate,
  truth,
  whole,
} from "./settings.mjs";
export { Pending, within } from "./waiting.mjs";
