import { AppError } from '../../platform/app-error.ts';

/** Shorter passwords are rejected before this check. */
const MIN_LENGTH = 8;

let commonPasswords: Promise<ReadonlySet<string>> | undefined;

/** Passwords of public breaches; loaded when the first password is set, because unpacking them takes longer than the rest of the start. */
async function loadCommonPasswords(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  const passwords = dictionary['passwords-common'].map((password) => password.toLowerCase());
  return new Set(passwords.filter(({ length }) => length >= MIN_LENGTH));
}

/** A text of at most four characters repeated, and runs such as 12345678 or hgfedcba. */
function isPattern(password: string): boolean {
  if (/^(.{1,4}?)\1+.{0,3}$/su.test(password) && new Set(password).size <= 4) return true;
  const points = Array.from(password, (character) => character.codePointAt(0) ?? 0);
  const steps = new Set(points.slice(1).map((point, index) => point - (points[index] ?? 0)));
  return steps.size === 1 && (steps.has(1) || steps.has(-1));
}

/**
 * Rejects the passwords that attackers try first: those of public breaches (NIST SP 800-63B section 5.1.1.2), repetitions and
 * runs of characters, and the account's own name.
 *
 * @throws password_too_common
 */
export async function assertUncommonPassword(password: string, username: string): Promise<void> {
  commonPasswords ??= loadCommonPasswords();
  const plain = password.normalize('NFKC').toLowerCase();
  if (plain === username.toLowerCase() || isPattern(plain) || (await commonPasswords).has(plain))
    throw new AppError('password_too_common', { param: 'password' });
}
