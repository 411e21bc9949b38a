import type { TSchema } from 'typebox';
import Type from 'typebox';
import { defined } from './objects.ts';

const PAGE_SIZE_DEFAULT = 20;
const PAGE_SIZE_MAX = 50;

/** A row id in a path: digits of a positive integer. */
export const IdParam = Type.Object({ id: Type.String({ pattern: '^[1-9][0-9]{0,15}$' }) });

/** `page` and `page_size` of every list: strings, read by `toPage`. */
export const PageQuery = {
  page: Type.Optional(Type.String({ maxLength: 16, description: 'From 1; default 1.' })),
  page_size: Type.Optional(Type.String({ maxLength: 16, description: 'Default 20, at most 50.' })),
};

/** `{success: true, message, data}`. */
export const Ok = <S extends TSchema>(data: S) =>
  Type.Object({ success: Type.Literal(true), message: Type.String(), data });

/** `{success: true, message}`. */
export const Done = Type.Object({ success: Type.Literal(true), message: Type.String() });

/** `{success: true, data: […], total}`. */
export const ListOf = <S extends TSchema>(item: S) =>
  Type.Object({ success: Type.Literal(true), data: Type.Array(item), total: Type.Integer() });

/** A page of a list. */
export interface Page {
  readonly page: number;
  readonly pageSize: number;
  readonly offset: number;
}

/**
 * Reads page parameters. Invalid and out-of-range values fall back to the nearest valid one, so that lists never fail
 * because of them.
 */
export function toPage(query: { readonly page?: string; readonly page_size?: string }): Page {
  const page = toCount(query.page, 1, 1_000_000);
  const pageSize = toCount(query.page_size, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX);
  return { page, pageSize, offset: (page - 1) * pageSize };
}

function toCount(text: string | undefined, fallback: number, most: number): number {
  if (text === undefined || !/^[0-9]{1,15}$/.test(text)) return fallback;
  const value = Number(text);
  return value < 1 ? fallback : Math.min(value, most);
}

/** Success body with data. */
export const ok = <T>(data: T, message = ''): { success: true; message: string; data: T } => ({
  success: true,
  message,
  data,
});
/** Success body without data. */
export const done = (message = ''): { success: true; message: string } => ({ success: true, message });
/** Success body of a list. */
export const list = <T>(data: T[], total: number): { success: true; data: T[]; total: number } => ({
  success: true,
  data,
  total,
});

/**
 * A page in OpenAI's format of lists.
 *
 * @param found the page, and one more row if another page follows
 */
export function openAiList<T extends { readonly id: string }>(found: readonly T[], limit: number) {
  const page = found.slice(0, limit);
  return {
    object: 'list' as const,
    data: page,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: found.length > limit,
  };
}

/** Sort order of a list. */
export interface Sort<Key extends string = string> {
  readonly key: Key;
  readonly descending: boolean;
}

/** The query parameter of a list that can be sorted: `name`, or `-name` for the last name first. */
export const SortBy = <const Key extends string>(keys: readonly Key[], description?: string) =>
  Type.Optional(
    Type.Enum(
      keys.flatMap((key): (Key | `-${Key}`)[] => [key, `-${key}`]),
      description === undefined ? {} : { description },
    ),
  );

/** Parses `-cost`: by cost, highest first. Undefined for any other format. */
export function parseSort<Key extends string = string>(text: Key | `-${Key}` | undefined): Sort<Key> | undefined {
  const match = /^(-?)([a-z_]{1,40})$/.exec(text ?? '');
  return match === null ? undefined : { key: match[2] as Key, descending: match[1] === '-' };
}
/** Formats a sort order as its query parameter. */
export const formatSort = ({ key, descending }: Sort): string => `${descending ? '-' : ''}${key}`;

/**
 * Sorts rows by one of their values. Rows without a value come last in both directions; equal rows keep their order.
 */
export function sortRowsBy<Row>(
  rows: readonly Row[],
  descending: boolean,
  toValue: (row: Row) => string | number | null,
): readonly Row[] {
  const sign = descending ? -1 : 1;
  return rows.toSorted((one, other) => {
    const [a, b] = [toValue(one), toValue(other)];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return sign * (typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b)));
  });
}

/** Lists stop counting at this row: counting millions of rows would take seconds. */
export const MAX_COUNTED = 10_000;

/** Query of a list that grows without limit. */
export const LongPageQuery = {
  ...PageQuery,
  sort: SortBy(['time'], 'Default -time: the newest first.'),
  after: Type.Optional(
    Type.String({
      // Imported history has negative numbers.
      pattern: '^-?[1-9][0-9]{0,15}$',
      description: '`next` of the page before. Pages are equally fast at any depth this way; `page` is ignored.',
    }),
  ),
};

/** `limit` of a list that is paged by `after` only. Read it with `toLimit`. */
export const Limit = Type.Optional(
  Type.String({ pattern: '^[1-9][0-9]{0,3}$', description: 'Default 20, at most 100.' }),
);

/** Parses `limit`: default 20, at most 100. */
export const toLimit = (text = '20'): number => Math.min(Number(text), 100);

/** `{success: true, data: […], total, total_is_minimum?, next}`. */
export const LongListOf = <S extends TSchema>(item: S) =>
  Type.Object({
    success: Type.Literal(true),
    data: Type.Array(item),
    total: Type.Integer({ maximum: MAX_COUNTED, description: `Exact up to ${MAX_COUNTED}.` }),
    total_is_minimum: Type.Optional(Type.Literal(true, { description: 'There are more rows than `total`.' })),
    next: Type.Union([Type.String(), Type.Null()], { description: 'For `after`; null: there are no more.' }),
  });

/** A page of a list that grows without limit. */
export interface LongPage extends Page {
  /** Sorts oldest first. */
  readonly oldestFirst?: boolean;
  /** Key of the last row before the page. */
  readonly after?: number;
}

/** One page of a list, as read from the database. */
export interface LongListPage<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
  readonly totalIsMinimum: boolean;
  /** Key of the last row if more rows follow. */
  readonly next: number | undefined;
}

/** Parses the page parameters of a list that grows without limit. */
export const toLongPage = (
  query: Parameters<typeof toPage>[0] & { readonly after?: string; readonly sort?: 'time' | '-time' },
): LongPage => ({
  ...toPage(query),
  oldestFirst: parseSort(query.sort)?.descending === false,
  after: query.after === undefined ? undefined : Number(query.after),
});

/** Success body of such a list. @param data rows of the page in their public form */
export const longList = <T>(data: T[], { total, totalIsMinimum, next }: Omit<LongListPage<unknown>, 'rows'>) => ({
  success: true as const,
  data,
  total,
  ...defined({ total_is_minimum: totalIsMinimum ? (true as const) : undefined }),
  next: next === undefined ? null : String(next),
});
