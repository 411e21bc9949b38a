/** Memoizes a computation per object, for the lifetime of the object. */
export function memoizeByObject<K extends object, V>(compute: (object: K) => V): (object: K) => V {
  const known = new WeakMap<K, V>();
  return (object) => {
    let value = known.get(object);
    if (value === undefined) {
      value = compute(object);
      known.set(object, value);
    }
    return value;
  };
}

/** A `Map` or a cache. */
interface Entries<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): unknown;
}

/** The entry of a map, created and stored if missing. */
export function getOrCreateEntry<K, V>(map: Entries<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

/**
 * Options of an LRU cache with at most `count` entries, whose arrays grow with its contents. `max` would allocate them
 * for all entries at once: 80 KB per array and 10,000 entries, at every start.
 */
export const upToEntries = (count: number): { readonly maxSize: number; readonly sizeCalculation: () => number } => ({
  maxSize: count,
  sizeCalculation: () => 1,
});
