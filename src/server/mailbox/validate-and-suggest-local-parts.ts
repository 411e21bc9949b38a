import { isReserved } from './reserved-local-parts.ts';

const MIN_LENGTH = 3;
const MAX_LENGTH = 30;

/**
 * A local part as the contract allows it: 3 to 30 of a-z 0-9 . _ -, not starting or ending with a dot or a hyphen.
 * Narrower than the contract in one point: two dots in a row are not an e-mail address (RFC 5321 4.1.2, Dot-string), so no
 * mail server accepts them.
 */
export function isLocalPart(text: unknown): text is string {
  return (
    typeof text === 'string' &&
    text.length >= MIN_LENGTH &&
    text.length <= MAX_LENGTH &&
    /^[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])$/.test(text) &&
    !text.includes('..')
  );
}

/** Numbers that are tried after each name. */
const MAX_NUMBER = 200;

/**
 * Local parts to try for an account, best first: its user name, the same with a number, then `user` and the account's id. It
 * ends: every variant of a user name such as `owner-x` is reserved, and an unlimited search would block the process for ever.
 *
 * @param username nothing is assumed of it
 * @param accountId used where the user name leaves nothing usable
 */
export function* candidateLocalParts(username: string, accountId: number): Generator<string> {
  const bases = new Set([toBase(username), `user${accountId}`]);
  for (const base of bases) {
    if (base === undefined) continue;
    if (isLocalPart(base) && !isReserved(base)) yield base;
    for (let number = 2; number <= MAX_NUMBER; number++) {
      const stem = base.slice(0, MAX_LENGTH - String(number).length).replace(/[.-]+$/, '');
      const name = `${stem}${number}`;
      if (isLocalPart(name) && !isReserved(name)) yield name;
    }
  }
}

function toBase(username: string): string | undefined {
  const base = username
    .toLowerCase()
    .replace(/[^a-z0-9._-]/g, '')
    .replace(/\.{2,}/g, '.')
    .slice(0, MAX_LENGTH)
    .replace(/^[.-]+|[.-]+$/g, '');
  return /[a-z0-9]/.test(base) ? base : undefined;
}
