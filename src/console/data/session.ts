const KEY = 'reelgate.user';

/** The session itself is a cookie no script can read; the console keeps only whose it is, which every request must name. */
export function readUserId(): number | undefined {
  const id = Number(localStorage.getItem(KEY));
  return Number.isSafeInteger(id) && id > 0 ? id : undefined;
}

export function rememberUser(id: number): void {
  localStorage.setItem(KEY, String(id));
}

export function forgetUser(): void {
  localStorage.removeItem(KEY);
}

/** Where to go after signing in: a path of this console, never another site. */
export function safePath(path: unknown): string {
  if (typeof path !== 'string' || !/^\/(?![/\\])/.test(path)) return '/studio';
  const url = new URL(path, location.origin);
  return url.origin === location.origin ? `${url.pathname}${url.search}${url.hash}` : '/studio';
}
