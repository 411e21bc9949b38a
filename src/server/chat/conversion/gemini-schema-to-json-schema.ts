import { asObject, type UntrustedObject } from '../../../contract/is-object.ts';
import { defined } from '../../../contract/omit-undefined.ts';

const MAX_DEPTH = 32;

/** Google's names in snake case as JSON Schema has them. */
const inCamelCase = (schema: UntrustedObject): UntrustedObject =>
  Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );

/** Google's own schema language as JSON Schema: types in small letters, `nullable` as a type (ai.google.dev/api/caching, Schema). */
export function fromGeminiSchema(value: unknown, depth = 0): unknown {
  const schema = asObject(value);
  if (schema === undefined || depth > MAX_DEPTH) return value;
  const {
    type,
    nullable,
    format: _format,
    propertyOrdering: _order,
    properties,
    items,
    anyOf,
    ...rest
  } = inCamelCase(schema);
  const name = typeof type === 'string' ? type.toLowerCase() : type;
  const inner = asObject(properties);
  return defined({
    ...rest,
    type: nullable === true ? [name, 'null'] : name,
    properties:
      inner && Object.fromEntries(Object.entries(inner).map(([key, each]) => [key, fromGeminiSchema(each, depth + 1)])),
    items: items === undefined ? undefined : fromGeminiSchema(items, depth + 1),
    anyOf: Array.isArray(anyOf) ? anyOf.map((each) => fromGeminiSchema(each, depth + 1)) : undefined,
  });
}
