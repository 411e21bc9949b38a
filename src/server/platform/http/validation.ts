import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import type { TLocalizedValidationError } from 'typebox/error';
import { Locale } from 'typebox/system';
import type { Localized } from '../../../contract/messages/messages.ts';
import { invalid } from '../errors.ts';

const REQUIRED: Localized = { en: 'is required', 'zh-CN': '不能为空' };

/** What is wrong with a value, without its name. Where only some values are allowed, which. */
export function toWords(error: TLocalizedValidationError): Localized {
  if (error.keyword !== 'enum') return { en: error.message, 'zh-CN': Locale.zh_Hans(error) };
  const values = error.params.allowedValues.map(String);
  return { en: `must be one of ${values.join(', ')}`, 'zh-CN': `须为以下之一：${values.join('、')}` };
}

type Check = (value: unknown) => { value: unknown } | { error: Error };

const compiled = new WeakMap<object, Check>();

/** A check for a schema, compiled once. No coercion: integers are integers, strings are strings. */
export function checkOf(schema: TSchema): Check {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const validator = Compile(schema);
  const check: Check = (value) => {
    if (validator.Check(value)) return { value };
    const [first] = validator.Errors(value);
    if (first === undefined) return { error: invalid('The request does not have the expected form.') };
    const missing = (first.params as { requiredProperties?: string[] }).requiredProperties?.[0];
    const path = [...first.instancePath.split('/').slice(1), ...(missing === undefined ? [] : [missing])].join('.');
    const said = missing === undefined ? toWords(first) : REQUIRED;
    const detail = { en: `${path || 'The body'} ${said.en}.`, 'zh-CN': `${path || '请求体'} ${said['zh-CN']}。` };
    return { error: invalid(detail, path === '' ? undefined : path) };
  };
  compiled.set(schema, check);
  return check;
}

/**
 * An object with those keys only that its schema names, so that nothing a caller adds reaches a rule by a spread. Schemas
 * that say `additionalProperties`, and those of no plain object, keep the value as it is.
 */
export function namedOnly(schema: TSchema | undefined, value: unknown): unknown {
  const { properties, additionalProperties } = (schema ?? {}) as {
    readonly properties?: object;
    readonly additionalProperties?: unknown;
  };
  if (properties === undefined || additionalProperties !== undefined) return value;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).filter(([key]) => Object.hasOwn(properties, key)));
}
