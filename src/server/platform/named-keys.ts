import type { TSchema } from 'typebox';

/** The keywords of a schema by which its keys are found. */
export interface SchemaKeywords {
  readonly type?: string;
  readonly writeOnly?: boolean;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly items?: TSchema;
  readonly anyOf?: readonly TSchema[];
}

const typeOf = (value: unknown): string => (Array.isArray(value) ? 'array' : typeof value);

/** Copies the keys the schema names, at every depth; null counts as absent. Values are validated elsewhere. */
export function pickNamedKeys(schema: TSchema, value: unknown): unknown {
  const shape = schema as SchemaKeywords;
  if (shape.anyOf) {
    const fitting = shape.anyOf.find((option) => (option as SchemaKeywords).type === typeOf(value));
    return fitting ? pickNamedKeys(fitting, value) : value;
  }
  const { properties, items } = shape;
  if (items && Array.isArray(value)) return value.map((entry) => pickNamedKeys(items, entry));
  if (!properties || typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const kept: Record<string, unknown> = {};
  for (const key of Object.keys(properties)) {
    const inner = properties[key];
    if (!inner || !Object.hasOwn(value, key)) continue;
    const given = (value as Readonly<Record<string, unknown>>)[key];
    if (given !== null && given !== undefined) kept[key] = pickNamedKeys(inner, given);
  }
  return kept;
}

/** Dotted paths of the keys that `schema` does not name, at every depth; null counts as absent. */
export function unnamedPaths(schema: TSchema, value: unknown, path: string): readonly string[] {
  const shape = schema as SchemaKeywords;
  if (shape.anyOf) {
    const fitting = shape.anyOf.find((option) => (option as SchemaKeywords).type === typeOf(value));
    return fitting ? unnamedPaths(fitting, value, path) : [];
  }
  const { properties, items } = shape;
  if (items && Array.isArray(value))
    return [...new Set(value.flatMap((entry, index) => unnamedPaths(items, entry, `${path}.${index}`)))];
  if (!properties || typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const known = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (inner === null || inner === undefined) return [];
    return known ? unnamedPaths(known, inner, `${path}.${key}`) : [`${path}.${key}`];
  });
}
