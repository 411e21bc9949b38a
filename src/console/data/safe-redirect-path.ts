/** Redirect target after sign-in: always a path of this console, never another site. */
export function toSafeRedirectPath(path: unknown): string {
  if (typeof path !== 'string' || !/^\/(?![/\\])/.test(path)) return '/studio';
  const { origin, pathname, search, hash } = new URL(path, location.origin);
  // Resolved, because `/.//host` becomes `//host`, which a browser takes for another site.
  return origin === location.origin && !pathname.startsWith('//') ? `${pathname}${search}${hash}` : '/studio';
}
