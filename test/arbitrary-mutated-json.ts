import fc from 'fast-check';

/**
 * Values a faulty upstream may put into JSON: wrong types, unknown words, numbers that JSON can hold and money cannot.
 */
const junk: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, '', 0, -1, 1e308, Number.MAX_SAFE_INTEGER, [], {}, [[]], [null], {
    status: {},
  }),
  fc.string({ maxLength: 12 }),
  fc.constantFrom(
    '__proto__',
    'constructor',
    'toString',
    'success',
    'failed',
    'javascript:alert(1)',
    'file:///etc/passwd',
  ),
  fc.jsonValue({ maxDepth: 2 }),
);

type Container = Record<string, unknown> | unknown[];
const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null;

/** All positions within a value, as pairs of container and key. */
function placesOf(root: unknown): (readonly [Container, string])[] {
  if (!isContainer(root)) return [];
  return Object.keys(root).flatMap((key) => [[root, key] as const, ...placesOf(Reflect.get(root, key))]);
}

function mutate(root: unknown, place: number, how: 'replace' | 'remove' | 'wrap' | 'add', value: unknown): unknown {
  const places = placesOf(root);
  const found = places[place % Math.max(1, places.length)];
  if (!found) return value;
  const [holder, key] = found;
  if (how === 'remove' && Array.isArray(holder)) holder.splice(Number(key), 1);
  else if (how === 'remove') Reflect.deleteProperty(holder, key);
  else if (how === 'wrap') Reflect.set(holder, key, [Reflect.get(holder, key)]);
  else if (how === 'add' && Array.isArray(holder)) holder.push(value);
  else Reflect.set(holder, how === 'add' ? `${key}_` : key, value);
  return root;
}

/** Recorded replies with one to four mutations each, occasionally replaced by an arbitrary value. */
export function arbitraryMutatedJson(replies: readonly unknown[]): fc.Arbitrary<unknown> {
  const mutation = fc.tuple(fc.nat(200), fc.constantFrom('replace', 'replace', 'remove', 'wrap', 'add'), junk);
  const wounded = fc
    .tuple(fc.constantFrom(...replies), fc.array(mutation, { minLength: 1, maxLength: 4 }))
    .map(([reply, mutations]) =>
      mutations.reduce<unknown>(
        (value, [place, how, other]) => mutate(value, place, how, structuredClone(other)),
        structuredClone(reply),
      ),
    );
  return fc.oneof({ weight: 19, arbitrary: wounded }, { weight: 1, arbitrary: junk });
}
