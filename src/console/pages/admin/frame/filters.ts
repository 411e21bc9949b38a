import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import { ADMIN_PAGE_SIZE } from '../../../data/admin.ts';

export interface Filters {
  /** What stands in the address; undefined where nothing is chosen. */
  readonly value: Readonly<Record<string, string | undefined>>;
  readonly page: number;
  /** Whether anything narrows the list. */
  readonly active: boolean;
  /** How many do. */
  readonly count: number;
  /** The same as a list's query wants it. */
  readonly query: Readonly<Record<string, string | undefined>>;
  set(name: string, value: string | undefined): void;
  setPage(page: number): void;
  clear(): void;
}

/** Filters and page of a list. They live in the address, so that a list can be linked to, reloaded and gone back to. */
export function useFilters(names: readonly string[]): Filters {
  const search = useSearch({ strict: false }) as Readonly<Record<string, unknown>>;
  const navigate = useNavigate();
  const key = names.join();
  const value = useMemo(
    () =>
      Object.fromEntries(
        key
          .split(',')
          .filter((name) => name !== '')
          .map((name) => [name, toText(search[name])]),
      ),
    [search, key],
  );
  const page = Math.max(1, Math.trunc(Number(search.page)) || 1);
  const go = useCallback(
    (next: Readonly<Record<string, unknown>>, replace: boolean) =>
      void navigate({ to: '.' as string, search: next as never, replace, resetScroll: false }),
    [navigate],
  );
  const count = Object.values(value).filter((each) => each !== undefined).length;
  return {
    value,
    page,
    active: count > 0,
    count,
    query: { ...value, page: String(page), page_size: String(ADMIN_PAGE_SIZE) },
    set: (name, next) => go({ ...search, page: undefined, [name]: toSearch(next) }, true),
    setPage: (next) => go({ ...search, page: next === 1 ? undefined : next }, false),
    clear: () => go({}, false),
  };
}

/** Whatever else an address may hold is no filter. */
function toText(value: unknown): string | undefined {
  const told = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  return told && value !== '' ? String(value) : undefined;
}

/** Numbers and flags as themselves, so that the address reads `?status=2` and not `?status="2"`. */
function toSearch(value: string | undefined): unknown {
  if (value === undefined || value === '') return undefined;
  if (value === 'true' || value === 'false') return value === 'true';
  return String(Number(value)) === value ? Number(value) : value;
}
