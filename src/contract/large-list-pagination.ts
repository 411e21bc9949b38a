import Type, { type TSchema } from 'typebox';
import { parseSort, SortBy } from './list-sorting.ts';
import { defined } from './omit-undefined.ts';
import { type Page, PageQuery, toPage } from './success-bodies-and-pagination.ts';

/** Rows beyond this are listed, but not counted: counting millions would take seconds. */
export const MAX_COUNTED = 10_000;

/** Query of a list that grows without a bound. */
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

/** `limit` of a list that is read by `after` alone. Read it with `toLimit`. */
export const Limit = Type.Optional(
  Type.String({ pattern: '^[1-9][0-9]{0,3}$', description: 'Default 20, at most 100.' }),
);

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

export interface LongPage extends Page {
  /** The oldest first. */
  readonly oldestFirst?: boolean;
  /** Key of the last row before the page. */
  readonly after?: number | undefined;
}

/** One page of a list, as it was read. */
export interface LongListPage<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
  readonly totalIsMinimum: boolean;
  /** Key of the last row where more follow. */
  readonly next: number | undefined;
}

export const toLongPage = (
  query: Parameters<typeof toPage>[0] & { readonly after?: string; readonly sort?: 'time' | '-time' },
): LongPage => ({
  ...toPage(query),
  oldestFirst: parseSort(query.sort)?.descending === false,
  after: query.after === undefined ? undefined : Number(query.after),
});

/** The body of the answer. @param data the rows of the page as they are shown */
export const longList = <T>(data: T[], { total, totalIsMinimum, next }: Omit<LongListPage<unknown>, 'rows'>) => ({
  success: true as const,
  data,
  total,
  ...defined({ total_is_minimum: totalIsMinimum ? (true as const) : undefined }),
  next: next === undefined ? null : String(next),
});
