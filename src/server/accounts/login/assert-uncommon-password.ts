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

/**
 * Rejects the passwords that attackers try first: those of public breaches (NIST SP 800-63B section 5.1.1.2), and the account's
 * own name.
 *
 * @throws password_too_common
 */
export async function assertUncommonPassword(password: string, username: string): Promise<void> {
  commonPasswords ??= loadCommonPasswords();
  const plain = password.normalize('NFKC').toLowerCase();
  if (plain === username.toLowerCase() || (await commonPasswords).has(plain))
    throw new AppError('password_too_common', { param: 'password' });
}
