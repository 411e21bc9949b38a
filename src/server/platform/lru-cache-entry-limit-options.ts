/**
 * Options of an LRU cache of at most so many entries, whose arrays grow with what is in it. `max` would allocate them for all entries at
 * once: 80 KB for each array and 10,000 entries, at every start.
 */
export const upToEntries = (count: number): { readonly maxSize: number; readonly sizeCalculation: () => number } => ({
  maxSize: count,
  sizeCalculation: () => 1,
});
