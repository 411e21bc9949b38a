import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import type { TLocalizedValidationError } from 'typebox/error';
import { Locale } from 'typebox/system';
import { FORM_MESSAGES } from '../../../contract/account-fields.ts';
import type { Localized } from '../../../contract/localized-messages/format-message.ts';
import { type AppError, invalidRequest } from '../app-error.ts';
import { memoizeByObject } from '../memoize-by-object.ts';
import { positionsOfWrittenFractions } from '../parse-request-json.ts';

const OTHER_FORM: Localized = { en: 'does not have the expected form', 'zh-CN': '不符合要求的格式' };
const REQUIRED: Localized = { en: 'is required', 'zh-CN': '不能为空' };

/** What is wrong with a value, without its name. Where only some values are allowed, which. */
export function toLocalizedMessage(error: TLocalizedValidationError): Localized {
  if (error.keyword === 'pattern') return FORM_MESSAGES[String(error.params.pattern)] ?? OTHER_FORM;
  if (error.keyword !== 'enum') return { en: error.message, 'zh-CN': Locale.zh_Hans(error) };
  const values = error.params.allowedValues.map(String);
  return { en: `must be one of ${values.join(', ')}`, 'zh-CN': `须为以下之一：${values.join('、')}` };
}

type Validator = (value: unknown) => { value: unknown } | { error: Error };
type CompiledSchema = ReturnType<typeof Compile>;

/**
 * A check for a schema, compiled once, when the first value arrives: a start would take longer else. No coercion: strings are strings,
 * and integers are written as integers, digits with an optional minus.
 */
export const validatorFor = memoizeByObject((schema: TSchema): Validator => {
  let compiled: CompiledSchema | undefined;
  return (value) => {
    compiled ??= Compile(schema);
    const error = compiled.Check(value) ? integerError(compiled, value) : firstError(compiled, schema, value);
    return error === undefined ? { value } : { error };
  };
});

/**
 * The first thing that is wrong with a rejected value. TypeBox describes a value element by element, whatever the number of
 * errors requested, so that a value with many elements would cost seconds and gigabytes: only its beginning is described.
 */
function firstError(compiled: CompiledSchema, schema: TSchema, value: unknown): AppError {
  const [error] = compiled.Errors(toExcerpt(schema, value));
  if (error !== undefined) return toAppError(error);
  const { properties = {} } = schema as { readonly properties?: Readonly<Record<string, TSchema>> };
  const members = value as { readonly [key: string]: unknown };
  const key = Object.keys(properties).find(
    (name) => members[name] !== undefined && 'error' in validatorFor(properties[name] as TSchema)(members[name]),
  );
  return toInvalidRequest(key ?? '', OTHER_FORM);
}

/** Elements and members that are described of each array and object inside a value. */
const EXCERPT_WIDTH = 64;
const EXCERPT_DEPTH = 6;

/** The declared members of a value with the beginning of each array and object in them. */
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

/** The error for an integer written as `5.0` or `1e3`. A fraction in its place shows whether the schema requires an integer. */
function integerError(compiled: CompiledSchema, value: unknown): AppError | undefined {
  const positions = positionsOfWrittenFractions(value);
  if (positions.length === 0) return undefined;
  const written = positions.map(({ holder, key }) => ({ holder: holder as Record<string, unknown>, key }));
  const numbers = written.map(({ holder, key }) => holder[key]);
  for (const { holder, key } of written) holder[key] = 0.5;
  try {
    if (compiled.Check(value)) return undefined;
    const error = compiled
      .Errors(value)
      .find((each) => each.keyword === 'type' && (each.params as { readonly type?: unknown }).type === 'integer');
    return error && toAppError(error);
  } finally {
    written.forEach(({ holder, key }, index) => {
      holder[key] = numbers[index];
    });
  }
}

function toAppError(error: TLocalizedValidationError): AppError {
  const missing = (error.params as { requiredProperties?: string[] }).requiredProperties?.[0];
  const path = [...error.instancePath.split('/').slice(1), ...(missing === undefined ? [] : [missing])].join('.');
  return toInvalidRequest(path, missing === undefined ? toLocalizedMessage(error) : REQUIRED);
}

function toInvalidRequest(path: string, problem: Localized): AppError {
  const detail = {
    en: `${path || 'The body'} ${problem.en}.`,
    'zh-CN': `${path || '请求体'} ${problem['zh-CN']}。`,
  };
  return invalidRequest(detail, path === '' ? undefined : path);
}

/**
 * Takes out the members that are null where the schema declares them, in place: OpenAI's clients send null for what is not
 * given. Members that no schema names are a vendor's own and keep it.
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
 * An object with those keys only that its schema names, so that nothing a caller adds reaches a rule by a spread. Schemas
 * that say `additionalProperties`, and those of no plain object, keep the value as it is.
 */
export function pickDeclaredKeys(schema: TSchema | undefined, value: unknown): unknown {
  const { properties, additionalProperties } = (schema ?? {}) as {
    readonly properties?: object;
    readonly additionalProperties?: unknown;
  };
  if (properties === undefined || additionalProperties !== undefined) return value;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  // By the names of the schema: the value may have any number of them.
  const named = value as Record<string, unknown>;
  return Object.fromEntries(
    Object.keys(properties)
      .filter((key) => Object.hasOwn(named, key))
      .map((key) => [key, named[key]]),
  );
}
