import { runInNewContext } from 'node:vm';
import { type AST, RegExpParser } from '@eslint-community/regexpp';
import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Localized } from '../../contract/messages/format-message.ts';
import type { ModelKind } from '../../contract/model-kinds.ts';
import type { adminCreateModel, adminUpdateModel, MODEL_SORTS } from '../../contract/models.ts';
import { isObject } from '../../contract/objects.ts';
import { ChatPrice, MAX_MULTIPLIER_DECIMALS, PRICE_FACTS, type Price, VideoPrice } from '../../contract/pricing.ts';
import { type Page, type Sort, sortRowsBy } from '../../contract/responses.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import { AppError, invalidRequest, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Actor } from '../platform/http/route-registry.ts';
import { toLocalizedMessage } from '../platform/http/schema-validation.ts';
import type { Trx } from '../tables.ts';
import type { CatalogStore, ModelRow } from './directory.ts';
import type { ChannelVendor } from './tables.ts';

type NewModel = Static<(typeof adminCreateModel)['body']>;
type ModelChange = Static<(typeof adminUpdateModel)['body']>;

interface ModelAdminDependencies {
  readonly store: CatalogStore;
  readonly clock: Clock;
  readonly audit: AuditLog;
}

interface ModelFilter {
  readonly vendor?: ChannelVendor;
  readonly kind?: ModelKind;
  readonly nameContains?: string;
}

type ModelSort = Sort<(typeof MODEL_SORTS)[number]>;

/** Administration of models and prices. */
export class ModelAdminService {
  readonly #dependencies: ModelAdminDependencies;
  constructor(parts: ModelAdminDependencies) {
    this.#dependencies = parts;
  }

  async list(
    filter: ModelFilter,
    { offset, pageSize }: Page,
    sort?: ModelSort,
  ): Promise<{ rows: ModelRow[]; total: number }> {
    const part = filter.nameContains?.toLowerCase() ?? '';
    const byName = (await this.#dependencies.store.models()).filter(
      (row) =>
        (filter.vendor === undefined || row.vendor === filter.vendor) &&
        (filter.kind === undefined || row.kind === filter.kind) &&
        row.id.toLowerCase().includes(part),
    );
    const rows =
      sort === undefined
        ? byName
        : sortRowsBy(byName, sort.descending, (row) => row[sort.key === 'name' ? 'id' : sort.key]);
    return { rows: rows.slice(offset, offset + pageSize), total: rows.length };
  }

  async get(id: string): Promise<ModelRow> {
    return requireModel(await this.#dependencies.store.model(id));
  }

  async create(actor: Actor, input: NewModel): Promise<string> {
    const { store, clock, audit } = this.#dependencies;
    const aliasOf = input.alias_of || null;
    const schema = toSchemaText(input.input_schema);
    await store.change(async (trx) => {
      const target = aliasOf === null ? undefined : await this.#requireAliasTarget(trx, input.id, aliasOf);
      const vendor = input.vendor ?? target?.vendor;
      const kind = input.kind ?? target?.kind;
      if (vendor === undefined) throw invalidRequest('vendor is required.', 'vendor');
      if (kind === undefined) throw invalidRequest('kind is required.', 'kind');
      if (input.price === undefined && target === undefined) throw invalidRequest('price is required.', 'price');
      const now = clock.now();
      const row: ModelRow = {
        id: input.id,
        vendor,
        kind,
        price: input.price === undefined ? null : JSON.stringify(parsePrice(input.price, kind)),
        alias_of: aliasOf,
        input_schema: schema,
        on_retirement: input.on_retirement ?? 'refuse',
        enabled: input.enabled === false ? 0 : 1,
        created_at: now,
        updated_at: now,
      };
      assertConsistent(row, target);
      if (!(await store.addModel(trx, row))) throw new AppError('already_exists', { params: { what: 'model' } });
      await audit.record(trx, {
        ...actor,
        action: 'model.create',
        target: `model:${row.id}`,
        after: toAuditRecord(row),
      });
    });
    return input.id;
  }

  async update(actor: Actor, id: string, change: ModelChange): Promise<void> {
    const { store, clock, audit } = this.#dependencies;
    const schema = change.input_schema === undefined ? undefined : toSchemaText(change.input_schema);
    await store.change(async (trx) => {
      const before = requireModel(await store.model(id, trx));
      if (change.id !== undefined && change.id !== id)
        throw invalidRequest(
          'The name of a model cannot change: tasks and the ledger refer to it. Add an alias.',
          'id',
        );
      const aliasOf = change.alias_of === undefined ? before.alias_of : change.alias_of || null;
      const target = aliasOf === null ? undefined : await this.#requireAliasTarget(trx, id, aliasOf);
      const kind = change.kind ?? before.kind;
      const price = change.price === undefined ? before.price && JSON.parse(before.price) : change.price;
      const after: ModelRow = {
        ...before,
        vendor: change.vendor ?? before.vendor,
        kind,
        price: price === null ? null : JSON.stringify(parsePrice(price, kind)),
        alias_of: aliasOf,
        input_schema: schema === undefined ? before.input_schema : schema,
        on_retirement: change.on_retirement ?? before.on_retirement,
        enabled: change.enabled === undefined ? before.enabled : change.enabled ? 1 : 0,
        updated_at: clock.now(),
      };
      assertConsistent(after, target);
      await this.#assertAliasesFit(trx, after);
      const { id: _id, ...values } = after;
      await store.setModel(trx, id, values);
      await audit.record(trx, {
        ...actor,
        action: 'model.update',
        target: `model:${id}`,
        before: toAuditRecord(before),
        after: toAuditRecord(after),
      });
    });
  }

  async remove(actor: Actor, id: string): Promise<void> {
    const { store, audit } = this.#dependencies;
    await store.change(async (trx) => {
      const before = requireModel(await store.model(id, trx));
      const alias = (await store.models(trx)).find((row) => row.alias_of === id);
      const channel = (await store.channels(trx)).find((row) => (JSON.parse(row.models) as string[]).includes(id));
      const user = alias === undefined ? channel?.name : alias.id;
      if (user !== undefined) throw new AppError('model_in_use', { params: { model: id, user } });
      await store.removeModel(trx, id);
      await audit.record(trx, {
        ...actor,
        action: 'model.delete',
        target: `model:${id}`,
        before: toAuditRecord(before),
      });
    });
  }

  /**
   * The row an alias points to. Limited to one step: neither end may be part of a chain, which also rules out cycles.
   */
  async #requireAliasTarget(trx: Trx, id: string, aliasOf: string): Promise<ModelRow> {
    const { store } = this.#dependencies;
    if (aliasOf === id) throw invalidRequest('A model cannot be an alias of itself.', 'alias_of');
    const target = await store.model(aliasOf, trx);
    if (target === undefined) throw invalidRequest(`There is no model ${aliasOf} to stand for.`, 'alias_of');
    if (target.alias_of !== null)
      throw invalidRequest(`${aliasOf} is an alias itself, of ${target.alias_of}; name that one.`, 'alias_of');
    const alias = (await store.models(trx)).find((row) => row.alias_of === id);
    if (alias !== undefined)
      throw invalidRequest(`${alias.id} is an alias of ${id}, which so cannot become one itself.`, 'alias_of');
    return target;
  }

  async #assertAliasesFit(trx: Trx, target: ModelRow): Promise<void> {
    const aliases = (await this.#dependencies.store.models(trx)).filter((row) => row.alias_of === target.id);
    for (const alias of aliases) assertConsistent(alias, target);
  }
}

function requireModel(row: ModelRow | undefined): ModelRow {
  if (row === undefined) throw notExistError('model');
  return row;
}

function assertConsistent(row: ModelRow, target: ModelRow | undefined): void {
  if (target !== undefined && target.kind !== row.kind)
    throw invalidRequest(`${row.id} makes ${row.kind}, ${target.id} makes ${target.kind}.`, 'kind');
  if (target === undefined && row.price === null) throw invalidRequest('price is required.', 'price');
}

/** Checks a media schema. Runs outside any transaction because the check is slow. */
function toSchemaText(schema: NewModel['input_schema']): string | null {
  if (schema === undefined || schema === null) return null;
  assertMediaSchema(schema);
  return JSON.stringify(schema);
}

/** The fields of a model kept in the audit log. */
function toAuditRecord({ created_at: _created, updated_at: _updated, ...row }: ModelRow) {
  return {
    ...row,
    price: row.price === null ? null : JSON.parse(row.price),
    input_schema: row.input_schema === null ? null : JSON.parse(row.input_schema),
    enabled: row.enabled === 1,
  };
}

type Schema = { readonly [keyword: string]: unknown };

const MAX_BYTES = 32 * 1024;
const MAX_DEPTH = 16;
/** Schemas visited with every `$ref` followed, so that a few lines cannot expand into millions. */
const MAX_NODES = 2_000;

const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);
const SCHEMA_MAP_KEYWORDS = ['properties', 'patternProperties', 'dependentSchemas'];
const SCHEMA_LIST_KEYWORDS = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const SCHEMA_KEYWORDS = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames'];
/** Keywords that refer to other documents, or make the meaning of a `$ref` depend on its location. */
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
 * Checks a media schema before it is stored: it must be meaningful, self-contained and cheap to apply.
 *
 * @throws AppError `invalid_request` naming the location
 */
function assertMediaSchema(schema: Schema): void {
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

/** Length of the longest prompt. */
const PROBE_LENGTH = 32_000;
/**
 * The second limit is for a busy machine: elapsed time is measured, and a sound expression needs a few milliseconds.
 */
const PROBES_MS = [100, 400];

/**
 * Detects catastrophic backtracking, which any caller who sends a matching text could exploit to block the process:
 * first in the syntax tree, then by running the expression on long texts composed of its own characters, in a context
 * that is terminated after a time limit.
 *
 * @returns the reason it is unusable, or undefined
 */
export function findRegexProblem(pattern: string): string | undefined {
  if (pattern.length > 500) return 'is longer than 500 characters';
  try {
    new RegExp(pattern, 'u');
  } catch {
    return 'is no regular expression';
  }
  if (repeatsAmbiguously(pattern)) return 'repeats a part that can match one text in several ways';
  // Words and single characters of the expression, in any script: `(é+)+$` is only slow on a text of é.
  const pieces = new Set([
    ...(pattern.match(/[\p{L}\p{N}]+/gu) ?? []),
    ...(pattern.match(/[^\p{C}\\()[\]{}|*+?^$]/gu) ?? []),
  ]);
  const texts = [...new Set(['a', '0', ' ', 'a0', 'é', '一', ...[...pieces].slice(0, 40)])].map((piece) => [
    `${piece.repeat(Math.ceil(40 / piece.length))}\u0001`,
    `${piece.repeat(Math.ceil(PROBE_LENGTH / piece.length))}\u0001`,
  ]);
  const isSlow = PROBES_MS.every((timeout) => exceeds(timeout, pattern, texts.flat()));
  return isSlow ? 'takes too long on some texts' : undefined;
}

function exceeds(timeout: number, pattern: string, texts: readonly string[]): boolean {
  try {
    const script = 'const e = new RegExp(pattern, "u"); for (const text of texts) e.test(text);';
    runInNewContext(script, { pattern, texts }, { timeout });
    return false;
  } catch {
    return true;
  }
}

/** Up to this many repetitions multiply the steps only by a power of the text's length. */
const FEW_TIMES = 4;

/**
 * Whether the expression repeats a part that can match one text in several ways, such as `(a+)+` or `(a|aa)*`: the
 * number of ways then doubles with each character. Decided by the syntax tree, because no number of sample texts proves
 * the absence of the problem.
 */
function repeatsAmbiguously(pattern: string): boolean {
  const tree = new RegExpParser().parsePattern(pattern, 0, pattern.length, { unicode: true });
  const visit = (node: AST.Element): boolean => {
    if (node.type === 'Quantifier')
      return (node.max > FEW_TIMES && !isUnambiguous(node.element)) || visit(node.element);
    return 'alternatives' in node && node.alternatives.some(({ elements }) => elements.some(visit));
  };
  return tree.alternatives.some(({ elements }) => elements.some(visit));
}

type OneCharacter = AST.Character | AST.CharacterSet | AST.CharacterClass;

const isOneCharacter = (node: AST.Node | undefined): node is OneCharacter =>
  node?.type === 'Character' || node?.type === 'CharacterSet' || node?.type === 'CharacterClass';

/** Whether repetitions of an element can divide a text in only one way. */
function isUnambiguous(node: AST.Element): boolean {
  if (isOneCharacter(node)) return true;
  if (node.type !== 'Group' && node.type !== 'CapturingGroup') return false;
  const [first, ...others] = node.alternatives;
  if (first !== undefined && others.length === 0 && isSeparated(first)) return true;
  return (
    node.alternatives.every(({ elements }) => elements.every(isFixed)) && haveDisjointBeginnings(node.alternatives)
  );
}

/**
 * Whether a literal character starts each repetition, occurs nowhere else in it, and at most one of the other parts has
 * a variable length.
 */
function isSeparated({ elements: [separator, ...rest] }: AST.Alternative): boolean {
  if (separator?.type !== 'Character') return false;
  const parts = rest.map((node) => (node.type === 'Quantifier' ? node.element : node));
  const variable = rest.filter((node) => node.type === 'Quantifier' && node.min !== node.max);
  return variable.length <= 1 && parts.every((part) => isOneCharacter(part) && !matches(part, separator));
}

/** Whether a node matches texts of one length, or of several lengths distinguished by their first character. */
function isFixed(node: AST.Element): boolean {
  if (isOneCharacter(node)) return true;
  if (node.type === 'Quantifier') return node.min === node.max && isFixed(node.element);
  if (node.type !== 'Group' && node.type !== 'CapturingGroup') return false;
  return (
    node.alternatives.every(({ elements }) => elements.every(isFixed)) && haveDisjointBeginnings(node.alternatives)
  );
}

function haveDisjointBeginnings(alternatives: readonly AST.Alternative[]): boolean {
  if (alternatives.length === 1) return (alternatives[0]?.elements.length ?? 0) > 0;
  const beginnings = alternatives.map(({ elements: [first] }) => first);
  return beginnings.every((one, index) =>
    beginnings.slice(index + 1).every((other) => {
      if (!isOneCharacter(one) || !isOneCharacter(other)) return false;
      if (one.type === 'Character') return !matches(other, one);
      return other.type === 'Character' && !matches(one, other);
    }),
  );
}

const matches = (part: OneCharacter, { value }: AST.Character): boolean =>
  new RegExp(`^(?:${part.raw})$`, 'u').test(String.fromCodePoint(value));

const video = Compile(VideoPrice);
const chat = Compile(ChatPrice);
const PRICE_BY_KIND = {
  video: { validator: video, whole: { per_call: 0, per_second: 0 } },
  image: { validator: video, whole: { per_call: 0, per_second: 0 } },
  chat: { validator: chat, whole: { input_per_million: 0, output_per_million: 0 } },
} as const;

function assertDistinctTiers({ tiers = [] }: ChatPrice): void {
  const bounds = tiers.map(({ above_input_tokens: above }) => above);
  const twice = bounds.find((above, at) => bounds.indexOf(above) !== at);
  if (twice !== undefined) throw invalidRequest(`price.tiers has above_input_tokens ${twice} twice.`, 'price');
}

/**
 * A misspelt fact would never match: the line would price nothing, or the multiplier would be missing from every bill.
 */
function assertKnownFacts({ lines = [], multipliers = {} }: VideoPrice): void {
  const named = [
    ...lines.flatMap(({ when = {} }, index) => Object.keys(when).map((fact) => [`lines.${index}.when`, fact] as const)),
    ...Object.keys(multipliers).map((fact) => ['multipliers', fact] as const),
  ];
  const unknown = named.find(([, fact]) => !PRICE_FACTS.has(fact));
  if (unknown === undefined) return;
  const [path, fact] = unknown;
  throw invalidRequest(
    `price.${path}.${fact} is no fact a price can depend on; known facts: ${[...PRICE_FACTS].join(', ')}.`,
    'price',
  );
}

/** @throws AppError `invalid_request` for lines that could charge more than was reserved, or nothing at all */
function parseLines(price: VideoPrice, kind: ModelKind): VideoPrice {
  const { lines = [], per_call, per_second, settle_by: settleBy } = price;
  if (per_call !== undefined || per_second !== undefined)
    throw invalidRequest('price has lines, or per_call and per_second, not both.', 'price');
  if (settleBy === 'vendor' && kind === 'image') throw invalidRequest('price.settle_by vendor is for videos.', 'price');
  for (const [index, line] of lines.entries()) {
    const { when: _, max_units: fixed, max_units_per_second: each, ...rates } = line;
    if (Object.keys(rates).length === 0) throw invalidRequest(`price.lines.${index} has no price.`, 'price');
    if ((line.per_unit === undefined) !== (fixed === undefined && each === undefined))
      throw invalidRequest(`price.lines.${index} needs per_unit and max_units together.`, 'price');
    for (const amount of [line.per_unit, fixed, each])
      if (amount !== undefined && Number(amount.toFixed(UNIT_DECIMALS)) !== amount)
        throw invalidRequest(`price.lines.${index} has more than ${UNIT_DECIMALS} decimals.`, 'price');
    if (line.per_unit !== undefined && settleBy !== 'vendor')
      throw invalidRequest(`price.lines.${index} has per_unit, which needs settle_by vendor.`, 'price');
  }
  return price;
}

/** Decimals of rates and of counts of units. */
const UNIT_DECIMALS = 6;

const INVALID: Localized = { en: 'is wrong', 'zh-CN': '有误' };

/**
 * Validates and completes a price: omitted keys become 0, but at least one must be given.
 *
 * @throws AppError `invalid_request` naming the field
 */
export function parsePrice(price: unknown, kind: ModelKind): Price {
  const { validator, whole } = PRICE_BY_KIND[kind];
  if (!validator.Check(price)) {
    const [first] = validator.Errors(price);
    const path = ['price', ...(first?.instancePath.split('/').slice(1) ?? [])].join('.');
    const fault = first === undefined ? INVALID : toLocalizedMessage(first, validator.Type());
    const keys = Object.keys(whole);
    throw invalidRequest(
      {
        en: `${path} ${fault.en}. A ${kind} model is priced by ${keys.join(' and ')}.`,
        'zh-CN': `${path} ${fault['zh-CN']}。${kind} 模型按 ${keys.join('、')} 计价。`,
      },
      'price',
    );
  }
  assertKnownFacts(price as VideoPrice);
  const { multipliers } = price as { readonly multipliers?: VideoPrice['multipliers'] };
  for (const [factor, values] of Object.entries(multipliers ?? {}))
    for (const [value, multiplier] of Object.entries(values))
      if (Number(multiplier.toFixed(MAX_MULTIPLIER_DECIMALS)) !== multiplier)
        throw invalidRequest(
          `price.multipliers.${factor}.${value} has more than ${MAX_MULTIPLIER_DECIMALS} decimals.`,
          'price',
        );
  assertDistinctTiers(price as ChatPrice);
  if ((price as VideoPrice).lines !== undefined) return parseLines(price as VideoPrice, kind);
  if ((price as VideoPrice).settle_by === 'vendor' && kind === 'image')
    throw invalidRequest('price.settle_by vendor is for videos.', 'price');
  return { ...whole, ...price };
}
