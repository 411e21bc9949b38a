import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { isObject } from '../../contract/is-object.ts';
import { invalidRequest } from '../platform/app-error.ts';
import { findRegexProblem } from './find-regex-problem.ts';

type Schema = { readonly [keyword: string]: unknown };

const MAX_BYTES = 32 * 1024;
const MAX_DEPTH = 16;
/** Schemas visited with every `$ref` followed, so that few lines cannot unfold into millions. */
const MAX_NODES = 2_000;

const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);
const SCHEMA_MAP_KEYWORDS = ['properties', 'patternProperties', 'dependentSchemas'];
const SCHEMA_LIST_KEYWORDS = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const SCHEMA_KEYWORDS = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames'];
/** They reach outside, or make what a `$ref` means depend on where one stands. */
const UNSUPPORTED_KEYWORDS = [
  '$id',
  '$anchor',
  '$dynamicRef',
  '$dynamicAnchor',
  '$recursiveRef',
  '$recursiveAnchor',
  '$vocabulary',
];
const NUMBER_KEYWORDS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'];
const COUNT_KEYWORDS = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'];
const UPSTREAM_PATH = /^[A-Za-z_][A-Za-z0-9_-]{0,63}(?:\.[A-Za-z0-9_][A-Za-z0-9_-]{0,63}){0,7}$/;
const PROTOTYPE_PATH = /(?:^|\.)(?:__proto__|prototype|constructor)(?:\.|$)/;

/**
 * Checks a media schema before it is kept: what it says must mean something, stay inside itself, and cost little to apply.
 *
 * @throws AppError `invalid_request` that names the place
 */
export function assertMediaSchema(schema: Schema): void {
  if (Buffer.byteLength(JSON.stringify(schema)) > MAX_BYTES)
    throw invalidSchema('', `is larger than ${MAX_BYTES / 1024} KB`);
  if (schema.type !== 'object') throw invalidSchema('', 'must have the type object, since it describes a body');
  const defs = schema.$defs ?? {};
  if (!isObject(defs)) throw invalidSchema('$defs', 'must be an object');
  for (const [name, each] of Object.entries(defs)) new SchemaWalker(defs).visit(each, `$defs.${name}`, 1);
  new SchemaWalker(defs).visit(schema, '', 0);
  try {
    const validator = Compile(schema as TSchema);
    for (const body of [{}, { prompt: 'a' }]) validator.Check(body);
  } catch {
    throw invalidSchema('', 'cannot be used as a JSON Schema');
  }
}

const invalidSchema = (at: string, why: string) =>
  invalidRequest(`input_schema${at === '' ? '' : `.${at}`} ${why}.`, 'input_schema');

class SchemaWalker {
  readonly #defs: Schema;
  readonly #openRefs = new Set<string>();
  #nodes = 0;

  constructor(defs: Schema) {
    this.#defs = defs;
  }

  visit(schema: unknown, at: string, depth: number): void {
    if (typeof schema === 'boolean') return;
    if (!isObject(schema)) throw invalidSchema(at, 'must be a schema');
    if (depth > MAX_DEPTH) throw invalidSchema(at, `is deeper than ${MAX_DEPTH} levels`);
    if (++this.#nodes > MAX_NODES) throw invalidSchema('', `unfolds into more than ${MAX_NODES} schemas`);
    checkKeywords(schema, at);
    const below = (keyword: string) => (at === '' ? keyword : `${at}.${keyword}`);
    for (const keyword of SCHEMA_MAP_KEYWORDS) {
      const map = schema[keyword];
      if (map === undefined) continue;
      if (!isObject(map)) throw invalidSchema(below(keyword), 'must be an object');
      for (const [name, each] of Object.entries(map)) this.visit(each, below(`${keyword}.${name}`), depth + 1);
    }
    for (const keyword of SCHEMA_LIST_KEYWORDS) {
      const list = schema[keyword];
      if (list === undefined) continue;
      if (!Array.isArray(list) || list.length === 0)
        throw invalidSchema(below(keyword), 'must be a list that is not empty');
      for (const [index, each] of list.entries()) this.visit(each, below(`${keyword}.${index}`), depth + 1);
    }
    for (const keyword of SCHEMA_KEYWORDS)
      if (schema[keyword] !== undefined) this.visit(schema[keyword], below(keyword), depth + 1);
    if (schema.$ref !== undefined) this.#follow(schema.$ref, below('$ref'), depth);
  }

  #follow(ref: unknown, at: string, depth: number): void {
    const name = typeof ref === 'string' ? /^#\/\$defs\/([A-Za-z0-9_.-]{1,64})$/.exec(ref)?.[1] : undefined;
    if (name === undefined) throw invalidSchema(at, 'may only point to #/$defs/…');
    if (!Object.hasOwn(this.#defs, name)) throw invalidSchema(at, 'points to nothing');
    if (this.#openRefs.has(name)) throw invalidSchema(at, 'goes in a circle');
    this.#openRefs.add(name);
    this.visit(this.#defs[name], `$defs.${name}`, depth + 1);
    this.#openRefs.delete(name);
  }
}

function checkKeywords(schema: Schema, at: string): void {
  const pathOf = (keyword: string) => (at === '' ? keyword : `${at}.${keyword}`);
  const assertKeyword = (keyword: string, isValid: (value: unknown) => boolean, what: string): void => {
    const value = schema[keyword];
    if (value !== undefined && !isValid(value)) throw invalidSchema(pathOf(keyword), what);
  };
  for (const keyword of UNSUPPORTED_KEYWORDS) assertKeyword(keyword, () => false, 'is not supported');
  for (const keyword of NUMBER_KEYWORDS) assertKeyword(keyword, Number.isFinite, 'must be a number');
  for (const keyword of COUNT_KEYWORDS)
    assertKeyword(keyword, (value) => Number.isSafeInteger(value) && Number(value) >= 0, 'must be a whole number');
  assertKeyword('type', (value) => [value].flat().every((each) => TYPES.has(String(each))), 'must be a JSON type');
  assertKeyword('required', isStringList, 'must be a list of names');
  assertKeyword('enum', (value) => Array.isArray(value) && value.length > 0, 'must be a list that is not empty');
  assertKeyword(
    'x-upstream',
    (value) => typeof value === 'string' && UPSTREAM_PATH.test(value) && !PROTOTYPE_PATH.test(value),
    'must be a dotted path',
  );
  const patterns = isObject(schema.patternProperties) ? Object.keys(schema.patternProperties) : [];
  for (const pattern of schema.pattern === undefined ? patterns : [schema.pattern, ...patterns]) {
    const problem = typeof pattern === 'string' ? findRegexProblem(pattern) : 'must be text';
    if (problem !== undefined) throw invalidSchema(pathOf('pattern'), problem);
  }
}

const isStringList = (value: unknown): boolean =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');
