import { InvalidArgumentError, Option } from 'commander';
import { SPEND_PERIODS, type SpendPeriod } from '../contract/amounts.ts';
import { isObject } from '../contract/objects.ts';

/** An option that may be repeated; its value is the list of its values. @param absent the help's text for an empty list */
export const repeatableOption = (flags: string, description: string, absent: string): Option =>
  new Option(flags, description)
    .argParser((value: string, previous: readonly string[]) => [...previous, value])
    .default([], absent);

/** Parses a row id as the lists print them. */
export function parseRowId(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('Give a number from the list.');
  return Number(text);
}

/** Parses a whole number from 1 to 99,999,999. */
export function parsePositiveInteger(text: string): number {
  if (!/^[1-9]\d{0,7}$/.test(text)) throw new InvalidArgumentError('Give a whole number from 1.');
  return Number(text);
}

/** Parses a seed: an integer from 0. */
export function parseSeed(text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError('Give a whole number from 0.');
  return Number(text);
}

/** Parses an amount of credits; decimals and 0 are allowed. */
export function parseCredits(text: string): number {
  if (!/^\d{1,9}(\.\d{1,6})?$/.test(text)) throw new InvalidArgumentError('Give an amount such as 20 or 0.5.');
  return Number(text);
}

/** Parses hours, up to a week. */
export function parseHours(text: string): number {
  const hours = Number(text);
  if (!/^\d{1,3}(\.\d+)?$/.test(text) || hours > 168) throw new InvalidArgumentError('Give 0 to 168 hours.');
  return hours;
}

/** A spend limit as typed; the amount is in credits. */
export interface TypedSpendLimit {
  readonly credits: number;
  readonly period: SpendPeriod;
}

/** Parses `5000/month`, or `none`, which removes the limit. Not null, which commander would replace by an empty text. */
export function parseSpendLimit(text: string): TypedSpendLimit | 'none' {
  if (text === 'none') return text;
  const [amount = '', period, ...more] = text.split('/');
  const known = SPEND_PERIODS.find((each) => each === period);
  if (known === undefined || more.length > 0 || !(Number(amount) > 0))
    throw new InvalidArgumentError('Give an amount and a period such as 20/day, 100/week or 5000/month, or none.');
  return { credits: parseCredits(amount), period: known };
}

/** Parses a JSON object, neither null nor an array. */
export function parseJsonObject(text: string): { [key: string]: unknown } {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Handled below, like any other value that is not a JSON object.
  }
  throw new InvalidArgumentError('Give a JSON object, such as \'{"aspect_ratio":"9:16"}\'.');
}
