import { isReserved, skeleton } from './reserved-names.ts';

const MIN_LENGTH = 3;
const MAX_LENGTH = 30;

/**
 * A local part as the contract allows it: 3 to 30 of a-z 0-9 . _ -, not starting or ending with a dot or a hyphen.
 * Two dots in a row are not an address at all (RFC 5321 4.1.2, Dot-string), and a name of separators alone looks like
 * every other such name, so both are refused too.
 */
export function isLocalPart(text: string): boolean {
  return (
    text.length >= MIN_LENGTH &&
    text.length <= MAX_LENGTH &&
    /^[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])$/.test(text) &&
    !text.includes('..') &&
    skeleton(text) !== ''
  );
}

/**
 * Local parts to try for an account, best first: its user name, then the same with a number. Endless; the caller stops.
 *
 * @param username 3–30 of a-z 0-9 _ - (decisions of this service: accounts), but nothing is taken for granted
 * @param accountId used where the user name leaves nothing usable
 */
export function* candidateNames(username: string, accountId: number): Generator<string> {
  const base = toBase(username) ?? `user${accountId}`;
  if (isLocalPart(base) && !isReserved(base)) yield base;
  for (let number = 2; ; number++) {
    const name = `${base.slice(0, MAX_LENGTH - String(number).length).replace(/[.-]+$/, '')}${number}`;
    if (isLocalPart(name) && !isReserved(name)) yield name;
  }
}

function toBase(username: string): string | undefined {
  const base = username
    .toLowerCase()
    .replace(/[^a-z0-9._-]/g, '')
    .replace(/\.{2,}/g, '.')
    .slice(0, MAX_LENGTH)
    .replace(/^[.-]+|[.-]+$/g, '');
  return skeleton(base) === '' ? undefined : base;
}
