/** A small generator of pseudo-random numbers (mulberry32), so that a sample can be taken again by its seed. */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Some of all, every choice equally likely, in their order. All where there are not more than `count`. */
export function chooseSample<T>(all: readonly T[], count: number, seed: number): readonly T[] {
  if (all.length <= count) return all;
  const random = randomNumbers(seed);
  const keyed = all.map((each, index) => ({ each, index, key: random() }));
  keyed.sort((one, other) => one.key - other.key);
  return keyed
    .slice(0, count)
    .sort((one, other) => one.index - other.index)
    .map(({ each }) => each);
}
