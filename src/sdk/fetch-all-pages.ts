const PAGE_SIZE = 50;

/** Every item of a list, fetched page by page. */
export async function fetchAllPages<T>(
  fetchPage: (query: { page: string; page_size: string }) => Promise<{ readonly data: T[]; readonly total: number }>,
): Promise<T[]> {
  const rows: T[] = [];
  for (let page = 1; ; page += 1) {
    const { data, total } = await fetchPage({ page: String(page), page_size: String(PAGE_SIZE) });
    rows.push(...data);
    if (data.length < PAGE_SIZE || rows.length >= total) return rows;
  }
}
