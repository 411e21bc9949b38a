import type { TSchema } from 'typebox';
import { isObject } from '../../contract/objects.ts';
import { JsonRejectedError, parseRequestJson } from '../platform/json.ts';

/** The keywords by which arguments are read. */
interface Declaration {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Declaration>>;
  readonly required?: readonly string[];
  readonly items?: Declaration;
}

/**
 * Converts the arguments of a call to the types that the tool declares. Programs between a model and this service send
 * null or an empty string for what the model left out, and numbers, lists and objects as strings. The model cannot correct
 * what it did not write. A string that is not of the declared type is left to the validator.
 */
export const readToolArguments = (schema: TSchema, given: unknown): unknown => readValue(schema as Declaration, given);

function readValue(declaration: Declaration, given: unknown): unknown {
  const { type = '' } = declaration;
  const value = typeof given === 'string' && Object.hasOwn(TEXTS, type) ? (TEXTS[type]?.(given) ?? given) : given;
  if (Array.isArray(value) && declaration.items !== undefined) {
    const { items } = declaration;
    return value.map((each) => readValue(items, each));
  }
  return isObject(value) && declaration.properties !== undefined ? readMembers(declaration, value) : value;
}

function readMembers(
  { properties = {}, required = [] }: Declaration,
  given: Readonly<Record<string, unknown>>,
): object {
  const members: Record<string, unknown> = { ...given };
  for (const [name, declaration] of Object.entries(properties)) {
    if (!Object.hasOwn(members, name)) continue;
    const value = members[name];
    if (value === null || (value === '' && !required.includes(name))) delete members[name];
    else members[name] = readValue(declaration, value);
  }
  return members;
}

const NUMBER = /^-?\d{1,15}(?:\.\d{1,15})?$/;

/** The value that a text stands for, by the declared type; undefined if it stands for none. */
const TEXTS: Readonly<Record<string, (text: string) => unknown>> = {
  integer: toNumber,
  number: toNumber,
  boolean: (text) => parseAs(text, (value) => typeof value === 'boolean'),
  array: (text) => parseAs(text, Array.isArray),
  object: (text) => parseAs(text, isObject),
};

function toNumber(text: string): number | undefined {
  return NUMBER.test(text.trim()) ? Number(text) : undefined;
}

/** Parses with the limits of a request body, whose check treats the text as one value. */
function parseAs(text: string, isExpected: (value: unknown) => boolean): unknown {
  try {
    const value = parseRequestJson(Buffer.from(text));
    return isExpected(value) ? value : undefined;
  } catch (error) {
    if (error instanceof JsonRejectedError) return undefined;
    throw error;
  }
}
