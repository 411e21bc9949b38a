const KEY = 'reelgate.user';
/** Whose drafts this browser keeps: a session that ran out leaves them to their owner, to nobody else. */
const LAST_KEY = 'reelgate.last-user';
/** Begins the name of everything half-written that this browser keeps. */
export const DRAFT_KEY = 'reelgate.draft';

/** The session itself is a cookie no script can read; the console keeps only whose it is, which every request must name. */
export function readUserId(): number | undefined {
  const id = Number(localStorage.getItem(KEY));
  return Number.isSafeInteger(id) && id > 0 ? id : undefined;
}

export function rememberUser(id: number): void {
  if (localStorage.getItem(LAST_KEY) !== String(id)) forgetDrafts();
  localStorage.setItem(LAST_KEY, String(id));
  localStorage.setItem(KEY, String(id));
}

export function forgetUser(): void {
  localStorage.removeItem(KEY);
}

/** At signing out. */
export function forgetDrafts(): void {
  for (const key of Object.keys(localStorage)) if (key.startsWith(DRAFT_KEY)) localStorage.removeItem(key);
}

/** Where to go after signing in: a path of this console, never another site. */
export function safePath(path: unknown): string {
  if (typeof path !== 'string' || !/^\/(?![/\\])/.test(path)) return '/studio';
  const url = new URL(path, location.origin);
  return url.origin === location.origin ? `${url.pathname}${url.search}${url.hash}` : '/studio';
}
