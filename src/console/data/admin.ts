import { keepPreviousData, queryOptions, useQueryClient } from '@tanstack/react-query';
import type { Endpoint, PartOf } from '../../contract/endpoint.ts';
import { call } from './client.ts';

/** Rows on one page of the administration's lists. */
export const ADMIN_PAGE_SIZE = 25;

type Query = Readonly<Record<string, string | undefined>>;
interface Listed<Row> {
  readonly data: readonly Row[];
  readonly total: number;
}
/** One row of a list line. */
export type RowOf<Line extends Endpoint> =
  PartOf<Line, 'answer'> extends { readonly data: readonly (infer Row)[] } ? Row : never;
/** What a line about one thing answers. */
export type DataOf<Line extends Endpoint> = PartOf<Line, 'answer'> extends { readonly data: infer Data } ? Data : never;

/** One page of a list line; the page before stays on the screen while the next one is fetched. */
export const listQuery = <const Line extends Endpoint>(line: Line, query: Query, params: Query = {}) =>
  queryOptions({
    queryKey: ['admin', line.path, query, params],
    queryFn: ({ signal }) => call(line, { query, params } as never, { signal }) as Promise<Listed<RowOf<Line>>>,
    placeholderData: keepPreviousData,
  });

/** What a line answers that is no list. */
export const dataQuery = <const Line extends Endpoint>(
  line: Line,
  parts: { readonly params?: Readonly<Record<string, string>>; readonly query?: Query },
) =>
  queryOptions({
    queryKey: ['admin', line.path, parts],
    queryFn: async ({ signal }) => ((await call(line, parts as never, { signal })) as { data: DataOf<Line> }).data,
  });

/** After a change: everything the administration shows is looked at again, and what the studio knows of models too. */
export function useRefresh(): () => Promise<void> {
  const queries = useQueryClient();
  return async () => {
    await Promise.all(
      ['admin', 'models', 'package', 'self'].map((key) => queries.invalidateQueries({ queryKey: [key] })),
    );
  };
}
