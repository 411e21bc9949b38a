import type { ImportedUser } from './mapping/users.ts';

/** An account with the name and the e-mail it gets here. */
export interface NamedUser extends ImportedUser {
  /** The e-mail where it counts for login: one account at most logs in by it. */
  readonly loginEmail: string | null;
}

/** Names that are taken. What is given to an account is added. */
export interface TakenNames {
  readonly usernames: Set<string>;
  readonly emails: Set<string>;
}

const MAX_LENGTH = 30;

/** Gives each account a name that is free: its own, or that with its old number behind it. */
export function nameUsers(users: readonly ImportedUser[], taken: TakenNames): NamedUser[] {
  return users.map((user) => {
    const username = candidatesOf(user).find((name) => !taken.usernames.has(name)) ?? `user-${user.sourceId}-imported`;
    taken.usernames.add(username);
    const loginEmail = user.email !== null && !taken.emails.has(user.email) ? user.email : null;
    if (loginEmail !== null) taken.emails.add(loginEmail);
    return { ...user, username, loginEmail };
  });
}

/** Names an account may get, the best one first. */
export function candidatesOf({ username, sourceId }: ImportedUser): string[] {
  const withSuffix = (suffix: string): string => [...username].slice(0, MAX_LENGTH - suffix.length).join('') + suffix;
  return [username, withSuffix(`-${sourceId}`), withSuffix(`-${sourceId}-2`)];
}
