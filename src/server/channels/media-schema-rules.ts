import { Compile } from 'typebox/compile';
import { invalid } from '../platform/errors.ts';
import { problemOfPattern } from './pattern-box.ts';

type Schema = { readonly [keyword: string]: unknown };

const MAX_BYTES = 32 * 1024;
const MAX_DEPTH = 16;
/** Schemas visited with every `$ref` followed, so that few lines cannot unfold into millions. */
const MAX_NODES = 2_000;

const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);
const MAPS_OF_SCHEMAS = ['properties', 'patternProperties', 'dependentSchemas'];
const LISTS_OF_SCHEMAS = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const SCHEMAS = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames'];
/** They reach outside, or make what a `$ref` means depend on where one stands. */
const REFUSED = ['$id', '$anchor', '$dynamicRef', '$dynamicAnchor', '$recursiveRef', '$recursiveAnchor', '$vocabulary'];
const NUMBERS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'];
const COUNTS = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'];
const UPSTREAM_PATH = /^[A-Za-z_][A-Za-z0-9_-]{0,63}(?:\.[A-Za-z0-9_][A-Za-z0-9_-]{0,63}){0,7}$/;
const POLLUTING = /(?:^|\.)(?:__proto__|prototype|constructor)(?:\.|$)/;

/**
 * Checks a media schema before it is kept: what it says must mean something, stay inside itself, and cost little to apply.
 *
 * @throws AppError `invalid_request` that names the place
 */
export function assertMediaSchema(schema: Schema): void {
  if (Buffer.byteLength(JSON.stringify(schema)) > MAX_BYTES) throw refuse('', `is larger than ${MAX_BYTES / 1024} KB`);
  if (schema.type !== 'object') throw refuse('', 'must have the type object, since it describes a body');
  const defs = schema.$defs ?? {};
  if (!isObject(defs)) throw refuse('$defs', 'must be an object');
  for (const [name, each] of Object.entries(defs)) new Walk(defs).visit(each, `$defs.${name}`, 1);
  new Walk(defs).visit(schema, '', 0);
  try {
    const validator = Compile(schema as never);
    for (const body of [{}, { prompt: 'a' }]) validator.Check(body);
  } catch {
    throw refuse('', 'cannot be used as a JSON Schema');
  }
}

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const refuse = (at: string, why: string) => invalid(`input_schema${at === '' ? '' : `.${at}`} ${why}.`, 'input_schema');

class Walk {
  readonly #defs: Schema;
  readonly #under = new Set<string>();
  #nodes = 0;

  constructor(defs: Schema) {
    this.#defs = defs;
  }

  visit(schema: unknown, at: string, depth: number): void {
    if (typeof schema === 'boolean') return;
    if (!isObject(schema)) throw refuse(at, 'must be a schema');
    if (depth > MAX_DEPTH) throw refuse(at, `is deeper than ${MAX_DEPTH} levels`);
    if (++this.#nodes > MAX_NODES) throw refuse('', `unfolds into more than ${MAX_NODES} schemas`);
    checkKeywords(schema, at);
    const below = (keyword: string) => (at === '' ? keyword : `${at}.${keyword}`);
    for (const keyword of MAPS_OF_SCHEMAS) {
      const map = schema[keyword];
      if (map === undefined) continue;
      if (!isObject(map)) throw refuse(below(keyword), 'must be an object');
      for (const [name, each] of Object.entries(map)) this.visit(each, below(`${keyword}.${name}`), depth + 1);
    }
    for (const keyword of LISTS_OF_SCHEMAS) {
      const list = schema[keyword];
      if (list === undefined) continue;
      if (!Array.isArray(list) || list.length === 0) throw refuse(below(keyword), 'must be a list that is not empty');
      for (const [index, each] of list.entries()) this.visit(each, below(`${keyword}.${index}`), depth + 1);
    }
    for (const keyword of SCHEMAS)
      if (schema[keyword] !== undefined) this.visit(schema[keyword], below(keyword), depth + 1);
    if (schema.$ref !== undefined) this.#follow(schema.$ref, below('$ref'), depth);
  }

  #follow(ref: unknown, at: string, depth: number): void {
    const name = typeof ref === 'string' ? /^#\/\$defs\/([A-Za-z0-9_.-]{1,64})$/.exec(ref)?.[1] : undefined;
    if (name === undefined) throw refuse(at, 'may only point to #/$defs/…');
    if (!Object.hasOwn(this.#defs, name)) throw refuse(at, 'points to nothing');
    if (this.#under.has(name)) throw refuse(at, 'goes in a circle');
    this.#under.add(name);
    this.visit(this.#defs[name], `$defs.${name}`, depth + 1);
    this.#under.delete(name);
  }
}

function checkKeywords(schema: Schema, at: string): void {
  const place = (keyword: string) => (at === '' ? keyword : `${at}.${keyword}`);
  const require = (keyword: string, holds: (value: unknown) => boolean, what: string): void => {
    const value = schema[keyword];
    if (value !== undefined && !holds(value)) throw refuse(place(keyword), what);
  };
  for (const keyword of REFUSED) require(keyword, () => false, 'is not supported');
  for (const keyword of NUMBERS) require(keyword, Number.isFinite, 'must be a number');
  for (const keyword of COUNTS)
    require(keyword, (value) => Number.isSafeInteger(value) && Number(value) >= 0, 'must be a whole number');
  require('type', (value) => [value].flat().every((each) => TYPES.has(String(each))), 'must be a JSON type');
  require('required', isListOfText, 'must be a list of names');
  require('enum', (value) => Array.isArray(value) && value.length > 0, 'must be a list that is not empty');
  require('x-upstream', (value) =>
    typeof value === 'string' && UPSTREAM_PATH.test(value) && !POLLUTING.test(value), 'must be a dotted path');
  const patterns = isObject(schema.patternProperties) ? Object.keys(schema.patternProperties) : [];
  for (const pattern of schema.pattern === undefined ? patterns : [schema.pattern, ...patterns]) {
    const problem = typeof pattern === 'string' ? problemOfPattern(pattern) : 'must be text';
    if (problem !== undefined) throw refuse(place('pattern'), problem);
  }
}

const isListOfText = (value: unknown): boolean =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');
