/** Rows one import may have numbers for: far above the ids of any source. */
const NUMBERS_OF_AN_IMPORT = 2 ** 40;

/**
 * The `seq` of a task that ended in another program: below all that were made here, since `seq` ascends with the creation time, and in the
 * order of the source.
 *
 * @param sourceId of its row in the source
 * @throws RangeError for an id that is larger than any source has
 */
export function importedEndedTaskSeq(importId: number, sourceId: number): number {
  if (sourceId < 0 || sourceId >= NUMBERS_OF_AN_IMPORT) throw new RangeError(`the source has a task ${sourceId}`);
  return sourceId - importId * NUMBERS_OF_AN_IMPORT;
}

/** Whether a task ended in another program: its cost was paid there and is in no ledger here. */
export const isImportedEndedTask = ({ seq }: { readonly seq: number }): boolean => seq < 0;

/** Where the numbers of the import begin that a task of history belongs to. */
export const firstSeqOfImport = (seq: number): number => Math.floor(seq / NUMBERS_OF_AN_IMPORT) * NUMBERS_OF_AN_IMPORT;
