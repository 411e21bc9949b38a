/** Prefix of the storage keys of all drafts in this browser. */
export const DRAFT_KEY_PREFIX = 'reelgate.draft';

/** At signing out. */
export function clearStoredDrafts(): void {
  for (const key of Object.keys(localStorage)) if (key.startsWith(DRAFT_KEY_PREFIX)) localStorage.removeItem(key);
}
