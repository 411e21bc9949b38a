/** The filters of the list as they stand in its address; junk is dropped. */
export interface VideosSearch {
  readonly page?: number | undefined;
  readonly status?: string | undefined;
  readonly model?: string | undefined;
  /** Days, `2026-11-21`. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

export function toVideosSearch(search: Record<string, unknown>): VideosSearch {
  const page = Number(search.page);
  const day = (value: unknown): string | undefined =>
    typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value) ? value : undefined;
  return {
    page: Number.isSafeInteger(page) && page > 1 ? page : undefined,
    status: typeof search.status === 'string' ? search.status : undefined,
    model: typeof search.model === 'string' ? search.model : undefined,
    from: day(search.from),
    to: day(search.to),
  };
}
