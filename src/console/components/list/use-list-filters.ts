import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import { formatSort, parseSort, type Sort } from '../../../contract/responses.ts';
import { ADMIN_PAGE_SIZE } from '../../data/admin.ts';

/** Filters, sort and page of a list as stored in the URL; each list reads those it supports. */
export type ListSearch = Readonly<Record<string, string | number | boolean | undefined>>;

/** State of a list's filters, sort and page, with their setters. */
export interface ListFilters {
  /** Values by filter name; undefined if nothing is selected. */
  readonly value: Readonly<Record<string, string | undefined>>;
  readonly page: number;
  /** Whether any filter is set. */
  readonly active: boolean;
  /** Number of filters set. */
  readonly count: number;
  /** Cursor of the current page in a list without page numbers; undefined: the newest page. */
  readonly after: string | undefined;
  /** The filters as the query of the list's endpoint. */
  readonly query: Readonly<Record<string, string | undefined>>;
  /** Whether a switch in the URL is on that changes the view without filtering. */
  flag(name: string): boolean;
  set(name: string, value: string | undefined): void;
  /** Sets several filters at once. */
  setAll(values: Readonly<Record<string, string | undefined>>): void;
  /** @param after cursor at which the page starts, for pages beyond the counted total */
  setPage(page: number, after?: string): void;
  /** Current sort; undefined: the order of the service. */
  readonly sort: Sort | undefined;
  /** @param sort undefined: the order of the service */
  setSort(sort: Sort | undefined): void;
  setAfter(after: string | undefined): void;
  /** Filters and sort without the page: the content of a saved view. */
  readonly view: ListSearch;
  /** Applies the filters and sort of a saved view. */
  show(view: ListSearch): void;
  clear(): void;
}

/**
 * Filters, sort and page of a list. They are kept in the URL, so that a list can be linked, reloaded and reached by the
 * back button.
 *
 * @param sortKeys columns by which the service can sort
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

/** The router parses search values as JSON; objects and arrays in a URL are not filters and are ignored. */
function toFilterText(value: unknown): string | undefined {
  const isScalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  return isScalar && value !== '' ? String(value) : undefined;
}

/** Keeps numbers and booleans unquoted, so that the URL reads `?status=2` instead of `?status="2"`. */
function toSearchValue(value: string | undefined): ListSearch[string] {
  if (value === undefined || value === '') return undefined;
  if (value === 'true' || value === 'false') return value === 'true';
  return String(Number(value)) === value ? Number(value) : value;
}
