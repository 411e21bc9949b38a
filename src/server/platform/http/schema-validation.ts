import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import type { TLocalizedValidationError } from 'typebox/error';
import { FORM_MESSAGES } from '../../../contract/account-fields.ts';
import type { Localized } from '../../../contract/messages/format-message.ts';
import { type AppError, invalidRequest } from '../app-error.ts';
import { memoizeByObject } from '../cache.ts';
import { findWrittenFractions } from '../json.ts';

const REQUIRED: Localized = { en: 'is required', 'zh-CN': '不能为空' };

interface SchemaNode {
  readonly [keyword: string]: unknown;
}

/** Variants of a union without null, which only marks a field as optional. */
const variantsOf = (schema: SchemaNode): readonly SchemaNode[] => {
  if (schema.type === 'null') return [];
  return Array.isArray(schema.anyOf) ? (schema.anyOf as SchemaNode[]).flatMap(variantsOf) : [schema];
};

/**
 * The schema an error refers to. For a union this is the whole union, so that the message lists everything accepted.
 */
function schemaOf(root: TSchema, { schemaPath }: TLocalizedValidationError): SchemaNode | undefined {
  const tokens = schemaPath
    .replace(/(?:\/anyOf\/\d+)+$/, '')
    .split('/')
    .slice(1);
  let node: unknown = root;
  for (const token of tokens) {
    if (typeof node !== 'object' || node === null) return undefined;
    node = (node as SchemaNode)[token.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return typeof node === 'object' && node !== null ? (node as SchemaNode) : undefined;
}

/** A range in words; empty if there is none. */
function rangeOf(least: unknown, most: unknown): Localized {
  if (typeof least === 'number' && typeof most === 'number')
    return { en: ` from ${least} to ${most}`, 'zh-CN': `，范围 ${least} 至 ${most}` };
  if (typeof least === 'number') return { en: ` of at least ${least}`, 'zh-CN': `，至少为 ${least}` };
  return typeof most === 'number'
    ? { en: ` of at most ${most}`, 'zh-CN': `，至多为 ${most}` }
    : { en: '', 'zh-CN': '' };
}

function lengthOf(least: unknown, most: unknown, unit: Localized): Localized {
  const [from, to] = [
    typeof least === 'number' && least > 0 ? least : undefined,
    typeof most === 'number' ? most : undefined,
  ];
  if (from !== undefined && to !== undefined)
    return { en: ` of ${from} to ${to} ${unit.en}`, 'zh-CN': `，长度 ${from} 至 ${to} ${unit['zh-CN']}` };
  if (from !== undefined) return { en: ` of at least ${from} ${unit.en}`, 'zh-CN': `，至少 ${from} ${unit['zh-CN']}` };
  return to === undefined
    ? { en: '', 'zh-CN': '' }
    : { en: ` of at most ${to} ${unit.en}`, 'zh-CN': `，至多 ${to} ${unit['zh-CN']}` };
}

const CHARACTERS: Localized = { en: 'characters', 'zh-CN': '个字符' };
const ELEMENTS: Localized = { en: 'elements', 'zh-CN': '项' };

const joined = (noun: Localized, more: Localized): Localized => ({
  en: noun.en + more.en,
  'zh-CN': noun['zh-CN'] + more['zh-CN'],
});

/** What a field accepts, by the type of its schema. */
const NOUNS: Readonly<Record<string, (schema: SchemaNode) => Localized>> = {
  string: ({ minLength, maxLength }) =>
    joined({ en: 'a string', 'zh-CN': '字符串' }, lengthOf(minLength, maxLength, CHARACTERS)),
  integer: ({ minimum, maximum }) => joined({ en: 'an integer', 'zh-CN': '整数' }, rangeOf(minimum, maximum)),
  number: ({ minimum, maximum }) => joined({ en: 'a number', 'zh-CN': '数字' }, rangeOf(minimum, maximum)),
  array: ({ minItems, maxItems }) => joined({ en: 'a list', 'zh-CN': '列表' }, lengthOf(minItems, maxItems, ELEMENTS)),
  object: () => ({ en: 'an object', 'zh-CN': '对象' }),
  boolean: () => ({ en: 'true or false', 'zh-CN': 'true 或 false' }),
};

/** What one variant accepts; undefined where words cannot describe it. */
function describe(schema: SchemaNode): Localized | undefined {
  if ('const' in schema) return { en: String(schema.const), 'zh-CN': String(schema.const) };
  if (Array.isArray(schema.enum)) {
    const values = schema.enum.map(String);
    return { en: `one of ${values.join(', ')}`, 'zh-CN': `以下之一：${values.join('、')}` };
  }
  return typeof schema.type === 'string' && Object.hasOwn(NOUNS, schema.type)
    ? NOUNS[schema.type]?.(schema)
    : undefined;
}

const UNKNOWN_FIELD: Localized = { en: 'is not a field of this request', 'zh-CN': '不是此请求的字段' };
const NOT_SETTABLE: Localized = { en: 'cannot be set here', 'zh-CN': '不能在此设置' };
const OTHER_FORM: Localized = { en: 'does not have the expected form', 'zh-CN': '不符合要求的格式' };
/** Keywords whose failure the type and range of a schema do not explain. */
const BY_KEYWORD: Readonly<Record<string, Localized>> = {
  boolean: UNKNOWN_FIELD,
  additionalProperties: UNKNOWN_FIELD,
  not: NOT_SETTABLE,
  format: OTHER_FORM,
  uniqueItems: { en: 'must not have the same element twice', 'zh-CN': '不能有重复项' },
  minProperties: { en: 'must not be empty', 'zh-CN': '不能为空' },
  maxProperties: { en: 'has too many fields', 'zh-CN': '字段过多' },
};

/** Describes an invalid value in the caller's terms, without its name: what the field accepts. */
export function toLocalizedMessage(error: TLocalizedValidationError, root: TSchema): Localized {
  if (error.keyword === 'pattern') return FORM_MESSAGES[String(error.params.pattern)] ?? OTHER_FORM;
  const known = Object.hasOwn(BY_KEYWORD, error.keyword) ? BY_KEYWORD[error.keyword] : undefined;
  if (known !== undefined) return known;
  const schema = schemaOf(root, error);
  const variants = schema === undefined ? [] : variantsOf(schema);
  if (schema !== undefined && variants.length === 0) return NOT_SETTABLE;
  if (variants.length > 1 && variants.every((variant) => 'const' in variant))
    return must([describe({ enum: variants.map((variant) => variant.const) }) ?? OTHER_FORM]);
  const described = variants.map(describe);
  const texts = described.filter((each) => each !== undefined);
  if (texts.length === 0 || texts.length < described.length) return OTHER_FORM;
  return must(texts);
}

const must = (texts: readonly Localized[]): Localized => ({
  en: `must be ${texts.map(({ en }) => en).join(' or ')}`,
  'zh-CN': spaced(
    texts
      .map((each) => each['zh-CN'])
      .join('或')
      .replace(/(?<=\d)或/g, '，或'),
  ),
});

/** Latin letters are separated from Chinese characters by a space. */
const spaced = (text: string): string => (/^[a-z]/i.test(text) ? `须为 ${text}` : `须为${text}`);

type Validator = (value: unknown) => { value: unknown } | { error: Error };
type CompiledSchema = ReturnType<typeof Compile>;

/**
 * The validator of a schema, compiled once, when the first value arrives, because compiling all would slow the startup.
 * No coercion: strings are strings, and integers must be written as integers, digits with an optional minus.
 */
export const validatorFor = memoizeByObject((schema: TSchema): Validator => {
  let compiled: CompiledSchema | undefined;
  return (value) => {
    compiled ??= Compile(schema);
    const error = compiled.Check(value) ? integerError(compiled, schema, value) : firstError(compiled, schema, value);
    return error === undefined ? { value } : { error };
  };
});

/**
 * The first error in a rejected value. TypeBox describes a value element by element, whatever number of errors is
 * requested, so a value with many elements would cost seconds and gigabytes: only its beginning is described.
 */
function firstError(compiled: CompiledSchema, schema: TSchema, value: unknown): AppError {
  const [error] = compiled.Errors(toExcerpt(schema, value));
  if (error !== undefined) return toAppError(error, schema);
  const { properties = {} } = schema as { readonly properties?: Readonly<Record<string, TSchema>> };
  const members = value as { readonly [key: string]: unknown };
  const key = Object.keys(properties).find(
    (name) => members[name] !== undefined && 'error' in validatorFor(properties[name] as TSchema)(members[name]),
  );
  return toInvalidRequest(key ?? '', OTHER_FORM);
}

/** Elements and members that are described per array and object inside a value. */
const EXCERPT_WIDTH = 64;
const EXCERPT_DEPTH = 6;

/** The declared members of a value, with the beginning of each array and object in them. */
function toExcerpt(schema: TSchema, value: unknown): unknown {
  const cut = (inner: unknown, depth: number): unknown => {
    if (typeof inner !== 'object' || inner === null) return inner;
    if (depth === EXCERPT_DEPTH) return Array.isArray(inner) ? [] : {};
    if (Array.isArray(inner)) return inner.slice(0, EXCERPT_WIDTH).map((element) => cut(element, depth + 1));
    const excerpt: Record<string, unknown> = {};
    let width = 0;
    for (const key in inner) {
      if (++width > EXCERPT_WIDTH) break;
      excerpt[key] = cut((inner as Record<string, unknown>)[key], depth + 1);
    }
    return excerpt;
  };
  const members = pickDeclaredKeys(schema, value);
  if (typeof members !== 'object' || members === null || Array.isArray(members)) return cut(members, 0);
  return Object.fromEntries(Object.entries(members).map(([key, inner]) => [key, cut(inner, 1)]));
}

/**
 * The error for an integer written as `5.0` or `1e3`. Substituting a fraction shows whether the schema requires an
 * integer.
 */
function integerError(compiled: CompiledSchema, schema: TSchema, value: unknown): AppError | undefined {
  const positions = findWrittenFractions(value);
  if (positions.length === 0) return undefined;
  const written = positions.map(({ holder, key }) => ({ holder: holder as Record<string, unknown>, key }));
  const numbers = written.map(({ holder, key }) => holder[key]);
  for (const { holder, key } of written) holder[key] = 0.5;
  try {
    if (compiled.Check(value)) return undefined;
    const error = compiled
      .Errors(value)
      .find((each) => each.keyword === 'type' && (each.params as { readonly type?: unknown }).type === 'integer');
    return error && toAppError(error, schema);
  } finally {
    written.forEach(({ holder, key }, index) => {
      holder[key] = numbers[index];
    });
  }
}

function toAppError(error: TLocalizedValidationError, schema: TSchema): AppError {
  const missing = (error.params as { requiredProperties?: string[] }).requiredProperties?.[0];
  const path = [...error.instancePath.split('/').slice(1), ...(missing === undefined ? [] : [missing])].join('.');
  return toInvalidRequest(path, missing === undefined ? toLocalizedMessage(error, schema) : REQUIRED);
}

function toInvalidRequest(path: string, problem: Localized): AppError {
  const detail = {
    en: `${path || 'The body'} ${problem.en}.`,
    'zh-CN': `${path || '请求体'} ${problem['zh-CN']}。`,
  };
  return invalidRequest(detail, path === '' ? undefined : path);
}

/**
 * Removes declared members that are null, in place, because OpenAI's clients send null for an omitted field. Members
 * that no schema declares belong to a vendor and keep their null.
 */
export function dropDeclaredNulls(schema: TSchema | undefined, value: unknown): void {
  const { properties } = (schema ?? {}) as { readonly properties?: Readonly<Record<string, TSchema>> };
  if (properties === undefined || typeof value !== 'object' || value === null || Array.isArray(value)) return;
  const members = value as Record<string, unknown>;
  for (const [key, inner] of Object.entries(properties)) {
    if (!Object.hasOwn(members, key)) continue;
    if (members[key] === null) delete members[key];
    else dropDeclaredNulls(inner, members[key]);
  }
}

/**
 * An object reduced to the keys its schema declares, so that nothing a caller adds reaches a rule by a spread. Values
 * of schemas with `additionalProperties`, and of schemas other than plain objects, are returned unchanged.
 */
export function pickDeclaredKeys(schema: TSchema | undefined, value: unknown): unknown {
  const { properties, additionalProperties } = (schema ?? {}) as {
    readonly properties?: object;
    readonly additionalProperties?: unknown;
  };
  if (properties === undefined || additionalProperties !== undefined) return value;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  // Iterates over the schema's names, because the value may have any number of them.
  const named = value as Record<string, unknown>;
  return Object.fromEntries(
    Object.keys(properties)
      .filter((key) => Object.hasOwn(named, key))
      .map((key) => [key, named[key]]),
  );
}
