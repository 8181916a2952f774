/** Where records went, for clients that tell no more of a call than the first offset of each partition. */

/** The partition or the offset of a record of which the client does not know it. */
export const UNKNOWN = -1;

/**
 * Partition and offset of each record of one call. The records of a partition stand there one behind the other; so
 * where one record may be in any partition, no place of the call is certain.
 *
 * @param {number[]} partitions the partition of each record, in the order of the call
 * @param {Map<number, bigint>} firstOffsets of the partitions of which the client tells it
 * @returns {[number, bigint | number][]}
 */
export function placesOf(partitions, firstOffsets) {
  if (partitions.includes(UNKNOWN)) {
    return partitions.map(() => [UNKNOWN, UNKNOWN]);
  }
  const next = new Map(firstOffsets);
  return partitions.map((partition) => {
    const offset = next.get(partition);
    if (offset === undefined || offset < 0n) return [partition, UNKNOWN];
    next.set(partition, offset + 1n);
    return [partition, offset];
  });
}
