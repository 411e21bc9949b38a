const ORIGIN = 'http://console.invalid';

/**
 * Whether a text is a path inside the console (or empty): it cannot lead to another site, however a browser or a router
 * reads it. No `//`, no backslash, no white space, nothing but printable ASCII.
 */
export function isConsolePath(text: string): boolean {
  if (text === '') return true;
  if (!/^\/[\x21-\x7e]*$/.test(text) || /\\|\/\//.test(text)) return false;
  if (!URL.canParse(text, ORIGIN)) return false;
  const url = new URL(text, ORIGIN);
  return url.origin === ORIGIN && !url.pathname.startsWith('//');
}
