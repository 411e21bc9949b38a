/** Protocols to which credentials can be limited. */
export type Protocol = 'imap' | 'pop3' | 'smtp';

/** Whether the login is accepted; undefined when that cannot be determined now. */
export type Authenticate = (address: string, password: string, protocol: Protocol) => Promise<boolean | undefined>;

/** Reads the response of AUTH=PLAIN: authorization id, user and password between NULs (RFC 4616). */
export function parsePlainCredentials(base64: string): { user: string; password: string } | undefined {
  const [, user, password] = Buffer.from(base64, 'base64').toString('utf8').split('\0');
  return user === undefined || password === undefined ? undefined : { user, password };
}
