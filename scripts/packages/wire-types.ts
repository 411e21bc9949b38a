import { MEMBER_COMMENTS } from './member-comments.ts';

/** The parts of a JSON schema that declarations need. */
export interface WireSchema {
  readonly description?: string;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly WireSchema[];
  readonly items?: WireSchema;
  readonly properties?: Readonly<Record<string, WireSchema>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, WireSchema>>;
  readonly additionalProperties?: WireSchema | boolean;
}

const PRIMITIVES: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
};

/**
 * The TypeScript type of a schema; descriptions become comments of members.
 *
 * @throws Error for a schema of an unknown shape
 */
export function printWireType(schema: WireSchema, indent = ''): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return union(schema.enum.map((value) => JSON.stringify(value)));
  if (schema.anyOf !== undefined) return union(schema.anyOf.map((each) => printWireType(each, indent)));
  if (schema.type === undefined && schema.properties === undefined) return 'unknown';
  const primitive = PRIMITIVES[schema.type ?? ''];
  if (primitive !== undefined) return primitive;
  if (schema.type === 'array') return printArray(schema.items ?? {}, indent);
  if (schema.type === 'object') return printObject(schema, indent);
  throw new Error(`no TypeScript type for ${JSON.stringify(schema).slice(0, 200)}`);
}

const union = (parts: readonly string[]): string => [...new Set(parts)].join(' | ');

function printArray(items: WireSchema, indent: string): string {
  const item = printWireType(items, indent);
  return / \| /.test(item.replace(/\{[\s\S]*\}/, '')) ? `(${item})[]` : `${item}[]`;
}

function printObject(schema: WireSchema, indent: string): string {
  const { properties, required = [], patternProperties, additionalProperties } = schema;
  if (properties === undefined) {
    const [value = typeof additionalProperties === 'object' ? additionalProperties : {}] = Object.values(
      patternProperties ?? {},
    );
    return `{ [key: string]: ${printWireType(value, indent)} }`;
  }
  const inner = `${indent}    `;
  const members = Object.entries(properties).flatMap(([name, member]) => {
    const key = /^[a-z_$][\w$]*$/i.test(name) ? name : JSON.stringify(name);
    const mark = required.includes(name) ? '' : '?';
    const line = `${inner}${key}${mark}: ${printWireType(member, inner)};`;
    const [variant] = member.anyOf ?? [];
    // A nullable member is described at its value.
    const description = member.description ?? MEMBER_COMMENTS[name] ?? variant?.description;
    return description === undefined ? [line] : [`${inner}${comment(description)}`, line];
  });
  return members.length === 0 ? '{}' : `{\n${members.join('\n')}\n${indent}}`;
}

const comment = (text: string): string => `/** ${text.replaceAll('*/', '*\\/').replace(/\s+/g, ' ').trim()} */`;
