/** Redirect target after sign-in: always a path of this console, never another site. */
export function toSafeRedirectPath(path: unknown): string {
  if (typeof path !== 'string' || !/^\/(?![/\\])/.test(path)) return '/studio';
  const url = new URL(path, location.origin);
  return url.origin === location.origin ? `${url.pathname}${url.search}${url.hash}` : '/studio';
}
