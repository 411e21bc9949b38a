/** Filters of the list as stored in the URL; invalid values are dropped. */
export interface VideosSearchParams {
  readonly page?: number;
  /** Cursor of a page beyond the counted total. */
  readonly after?: string;
  /** Search words for the prompt. */
  readonly q?: string;
  readonly status?: string;
  readonly model?: string;
  /** Days, `2026-11-21`. */
  readonly from?: string;
  readonly to?: string;
  readonly favourite?: true;
  /** Id of a collection. */
  readonly collection?: number;
}

/** Whether any filter is set; the page does not count. */
export const hasFilters = ({ page: _page, after: _after, ...filters }: VideosSearchParams): boolean =>
  Object.values(filters).some((each) => each !== undefined);

/** Parses filters from the URL; invalid values are dropped. */
export function parseVideosSearchParams(search: Record<string, unknown>): VideosSearchParams {
  const page = Number(search.page);
  const day = (value: unknown): string | undefined =>
    typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value) ? value : undefined;
  // The router parses `q=35` as a number.
  const words = typeof search.q === 'string' || typeof search.q === 'number' ? String(search.q).slice(0, 200) : '';
  return {
    page: Number.isSafeInteger(page) && page > 1 ? page : undefined,
    after: /^\d{1,16}$/.test(String(search.after)) ? String(search.after) : undefined,
    q: words === '' ? undefined : words,
    status: typeof search.status === 'string' ? search.status : undefined,
    model: typeof search.model === 'string' ? search.model : undefined,
    from: day(search.from),
    to: day(search.to),
    favourite: search.favourite === true ? true : undefined,
    collection:
      Number.isSafeInteger(search.collection) && Number(search.collection) > 0 ? Number(search.collection) : undefined,
  };
}
