import fc from 'fast-check';

/** The parts of a JSON Schema that are used; everything else is left to chance. */
interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

const WORDS = [
  '1',
  '2',
  'root',
  'sora-2',
  'mp4',
  'none',
  'en',
  'UTC',
  'user',
  'a@b.test',
  'https://a.test/',
  '/tickets/1',
];
const LONGEST = 40;

const text = ({ minLength = 0, maxLength = LONGEST }: Schema): fc.Arbitrary<string> =>
  fc.oneof(
    fc.constantFrom(...WORDS),
    fc.string({ minLength, maxLength: Math.max(minLength, Math.min(maxLength, LONGEST)) }),
    // Boundary values of the allowed length, in characters of two UTF-16 units.
    fc.constantFrom('𝕏'.repeat(Math.min(maxLength, 5_000)), '𝕏'.repeat(minLength)),
  );

function whole({ minimum = -2, maximum = 2 ** 53 - 1 }: Schema): fc.Arbitrary<number> {
  const min = Math.max(minimum, -5);
  return fc.oneof(
    fc.integer({ min, max: Math.min(maximum, Math.max(min, 0) + 10) }),
    fc.constantFrom(minimum, maximum),
  );
}

/** Values that a schema accepts, apart from patterns and formats, which reach deep into the code behind it. */
export function arbitraryOf(schema: Schema): fc.Arbitrary<unknown> {
  if ('const' in schema) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map(arbitraryOf));
  switch (schema.type) {
    case 'string':
      return text(schema);
    case 'integer':
    case 'number':
      return whole(schema);
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(arbitraryOf(schema.items ?? {}), { maxLength: 3 });
    case 'object': {
      const fields = Object.entries(schema.properties ?? {}).map(
        ([name, inner]) => [name, arbitraryOf(inner)] as const,
      );
      return fc.record(Object.fromEntries(fields), { requiredKeys: [...(schema.required ?? [])] });
    }
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}
