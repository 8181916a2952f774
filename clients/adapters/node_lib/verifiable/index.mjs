/**
 * The client's side of the contract for Node programs: commands arrive on stdin, events go to stdout.
 *
 * It needs only Node itself (20 or later), so a program needs only a copy of this folder. A program supplies an
 * `Adapter`, and `run` does the rest. Import this before the client's own library: from then on everything that is
 * printed to stdout goes to stderr.
 */

export { Adapter, ConfigRefused } from "./adapter.mjs";
export {
  ConsumerAdapter,
  EARLIEST,
  LATEST,
  Unsupported,
} from "./consumer.mjs";
export { monotonicNs } from "./output.mjs";
export { placesOf, UNKNOWN } from "./places.mjs";
export { PromisingAdapter } from "./promising.mjs";
export { run } from "./program.mjs";
export {
  acks,
  addOwn,
  assignor,
  CannotSet,
  isBefore,
  list,
  text,
  translate,
  truth,
  whole,
} from "./settings.mjs";
export {
  ABORT,
  ABORT_UNSURE,
  CLOSE,
  REPEAT,
  TransactionalAdapter,
} from "./transactional.mjs";
export { Pending, within } from "./waiting.mjs";
