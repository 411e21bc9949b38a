import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import { ADMIN_PAGE_SIZE } from '../../../data/admin-queries.ts';

/** The filters of a list and its page as they stand in the URL; each list reads those it has. */
export type ListSearch = Readonly<Record<string, string | number | boolean | undefined>>;

export interface ListFilters {
  /** By filter name; undefined where nothing is selected. */
  readonly value: Readonly<Record<string, string | undefined>>;
  readonly page: number;
  /** Whether anything narrows the list. */
  readonly active: boolean;
  /** How many do. */
  readonly count: number;
  /** The same as the query of the list's endpoint. */
  readonly query: Readonly<Record<string, string | undefined>>;
  set(name: string, value: string | undefined): void;
  setPage(page: number): void;
  clear(): void;
}

/** Filters and page of a list. They are kept in the URL, so that a list can be linked to, reloaded and gone back to. */
export function useListFilters(names: readonly string[]): ListFilters {
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
  const count = Object.values(value).filter((each) => each !== undefined).length;
  return {
    value,
    page,
    active: count > 0,
    count,
    query: { ...value, page: String(page), page_size: String(ADMIN_PAGE_SIZE) },
    set: (name, next) => updateSearch({ ...search, page: undefined, [name]: toSearchValue(next) }, true),
    setPage: (next) => updateSearch({ ...search, page: next === 1 ? undefined : next }, false),
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
