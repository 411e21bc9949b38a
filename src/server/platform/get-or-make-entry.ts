/** A `Map` or a cache. */
interface Entries<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): unknown;
}

/** The entry of a map, made and kept where there is none. */
export function getOrMakeEntry<K, V>(map: Entries<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
