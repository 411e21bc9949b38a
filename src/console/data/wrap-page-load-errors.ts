/** The code or the texts of a page could not be loaded. */
class PageLoadError extends Error {
  constructor(cause: unknown) {
    super('the page could not be loaded', { cause });
    this.name = 'PageLoadError';
  }
}

export const isPageLoadError = (error: unknown): boolean => error instanceof PageLoadError;

/** Loads the code of a page. A failure is wrapped in PageLoadError; the router would reload the page on the original error. */
export async function loadPage<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    throw new PageLoadError(error);
  }
}
