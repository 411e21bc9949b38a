/** By page, for as long as it is open. React mounts a page anew when a part of it had to be loaded first, and forgets its state. */
const taken = new Map<string, string>();

/** The token behind `#` of a link; empty where there is none. It is taken out of the URL, so that no history keeps it. */
export function readLinkToken(): string {
  const { hash, pathname } = location;
  if (hash.length > 1) {
    taken.set(pathname, hash.slice(1));
    history.replaceState(history.state, '', pathname);
  }
  return taken.get(pathname) ?? '';
}
