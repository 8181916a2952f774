/** Where records were stored, for clients whose calls return only the first offset of each partition. */

/** The partition or offset of a record if the client does not know it. */
export const UNKNOWN = -1;

/**
 * Return partition and offset of each record of one call. The records of one partition have consecutive offsets. If
 * the partition of one record is unknown, no offset of the call is certain.
 *
 * @param {number[]} partitions the partition of each record, in the order of the call
 * @param {Map<number, bigint>} firstOffsets of the partitions that the client reports
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
