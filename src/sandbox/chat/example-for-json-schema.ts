import { asObject } from '../../contract/objects.ts';

type Schema = Readonly<Record<string, unknown>>;

const asSchema = (value: unknown): Schema => asObject(value) ?? {};

const MAX_DEPTH = 8;

/** A small value that fits a JSON Schema: required properties only (the first one where none is required). */
export function exampleForSchema(value: unknown, depth = 0): unknown {
  const schema = asSchema(value);
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const options = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(options)) return exampleForSchema(options[0], depth);
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (depth > MAX_DEPTH) return null;
  if (type === 'array') return [exampleForSchema(schema.items, depth + 1)];
  if (type === 'integer' || type === 'number') return typeof schema.minimum === 'number' ? schema.minimum : 1;
  if (type === 'boolean') return true;
  if (type === 'null') return null;
  if (type === 'string') return 'Paris';
  const properties = asSchema(schema.properties);
  const names = Object.keys(properties);
  const listed: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
  const required = names.filter((name) => listed.includes(name));
  const chosen = required.length > 0 ? required : names.slice(0, 1);
  return Object.fromEntries(chosen.map((name) => [name, exampleForSchema(properties[name], depth + 1)]));
}
