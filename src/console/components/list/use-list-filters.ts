import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import { formatSort, parseSort, type Sort } from '../../../contract/responses.ts';
import { ADMIN_PAGE_SIZE } from '../../data/admin.ts';

/** The filters of a list and its page as they stand in the URL; each list reads those it has. */
export type ListSearch = Readonly<Record<string, string | number | boolean | undefined>>;

export interface ListFilters {
  /** By filter name; undefined where nothing is selected. */
  readonly value: Readonly<Record<string, string | undefined>>;
  readonly page: number;
  /** Whether anything narrows the list. */
  readonly active: boolean;
  /** How many filters narrow the list. */
  readonly count: number;
  /** Where a page of a list without page numbers begins; undefined: at the newest. */
  readonly after: string | undefined;
  /** The same as the query of the list's endpoint. */
  readonly query: Readonly<Record<string, string | undefined>>;
  /** Whether the URL has a switch on that changes the view without narrowing the list. */
  flag(name: string): boolean;
  set(name: string, value: string | undefined): void;
  /** Several at once. */
  setAll(values: Readonly<Record<string, string | undefined>>): void;
  /** @param after where the page begins; for pages beyond the counted total */
  setPage(page: number, after?: string): void;
  /** What the table is sorted by; undefined: as the service lists it. */
  readonly sort: Sort | undefined;
  /** @param sort undefined: as the service lists it */
  setSort(sort: Sort | undefined): void;
  setAfter(after: string | undefined): void;
  /** What narrows and sorts the list, without the page: what a saved view keeps. */
  readonly view: ListSearch;
  /** Narrows and sorts the list as in a saved view. */
  show(view: ListSearch): void;
  clear(): void;
}

/**
 * Filters and page of a list. They are kept in the URL, so that a list can be linked to, reloaded and gone back to.
 *
 * @param sortKeys what the service sorts the list by
 */
export function useListFilters(names: readonly string[], sortKeys: readonly string[] = []): ListFilters {
  const search = useSearch({ strict: false }) as ListSearch;
  const navigate = useNavigate();
  const key = names.join();
  const value = useMemo(
    () =>
      Object.fromEntries(
        key
          .split(',')
          .filter((name) => name !== '')
          .map((name) => [name, toFilterText(search[name])]),
      ),
    [search, key],
  );
  const page = Math.max(1, Math.trunc(Number(search.page)) || 1);
  const updateSearch = useCallback(
    (next: ListSearch, replace: boolean) => void navigate({ to: '.', search: next, replace, resetScroll: false }),
    [navigate],
  );
  const sort = parseSort(toFilterText(search.sort));
  const count = Object.values(value).filter((each) => each !== undefined).length;
  return {
    value,
    page,
    active: count > 0,
    count,
    after: toFilterText(search.after),
    query: {
      ...value,
      page: String(page),
      after: toFilterText(search.after),
      page_size: String(ADMIN_PAGE_SIZE),
      sort: sort !== undefined && sortKeys.includes(sort.key) ? formatSort(sort) : undefined,
    },
    view: Object.fromEntries(
      Object.entries(search).filter(([name, each]) => each !== undefined && name !== 'page' && name !== 'after'),
    ),
    show: (view) => updateSearch(view, false),
    flag: (name) => search[name] === true,
    set: (name, next) =>
      updateSearch({ ...search, page: undefined, after: undefined, [name]: toSearchValue(next) }, true),
    setAll: (values) =>
      updateSearch(
        {
          ...search,
          page: undefined,
          after: undefined,
          ...Object.fromEntries(Object.entries(values).map(([name, next]) => [name, toSearchValue(next)])),
        },
        true,
      ),
    setPage: (next, after) => updateSearch({ ...search, page: next === 1 ? undefined : next, after }, false),
    sort,
    setSort: (next) =>
      updateSearch({ ...search, page: undefined, after: undefined, sort: next && formatSort(next) }, true),
    setAfter: (after) => updateSearch({ ...search, after }, false),
    clear: () => updateSearch({}, false),
  };
}

/** The router parses search values as JSON: objects and lists in a URL are no filters and are ignored. */
function toFilterText(value: unknown): string | undefined {
  const isScalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  return isScalar && value !== '' ? String(value) : undefined;
}

/** Numbers and booleans as such, so that the URL reads `?status=2` and not `?status="2"`. */
function toSearchValue(value: string | undefined): ListSearch[string] {
  if (value === undefined || value === '') return undefined;
  if (value === 'true' || value === 'false') return value === 'true';
  return String(Number(value)) === value ? Number(value) : value;
}
