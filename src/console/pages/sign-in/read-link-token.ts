/** The token behind `#` of a link from a mail; empty where there is none. It is taken out of the URL, so that no history keeps it. */
export function readLinkToken(): string {
  const token = location.hash.slice(1);
  if (token !== '') history.replaceState(history.state, '', location.pathname);
  return token;
}
