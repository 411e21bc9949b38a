/** Folders and ports of a Dovecot and Postfix pair. One folder contains everything, so that nothing of `/etc` is read. */
export interface MailServerConfigOptions {
  /** Absolute path of the folder. */
  readonly root: string;
  /** Domain of the mailboxes. */
  readonly domain: string;
  /** The servers' host name, as in the certificate. */
  readonly hostname: string;
  /** IP to listen on: `*` in production, `127.0.0.1` in tests. */
  readonly listen: string;
  readonly ports: {
    readonly imaps: number;
    readonly pop3s: number;
    readonly smtps: number;
    /** Where other mail servers deliver. */
    readonly mx: number;
    /** Dovecot's HTTP API, always on loopback. */
    readonly doveadm: number;
  };
  readonly tls: { readonly certFile: string; readonly keyFile: string };
  readonly database: MailServerDatabase;
  readonly doveadmKey: string;
  /** Numeric owner of the stored mail; needs no entry in passwd. */
  readonly mailUid: number;
  /** Group that may use the auth socket: the one Reelgate runs in. */
  readonly authGroup: string;
  /**
   * Networks from which the mailbox password is accepted: the webmail's. Empty accepts it from everywhere; with a value,
   * mail programs can only use the application password.
   */
  readonly webmailNetworks: readonly string[];
  /** Receives mail for postmaster and abuse (RFC 2142); undefined on a machine that receives no mail. */
  readonly operator: string | undefined;
  /** Whether an IP with wrong logins has to wait longer and longer; off only where all clients share one IP. */
  readonly slowsGuessing: boolean;
  /** False refuses recipients outside the domain. */
  readonly sendsOutside: boolean;
}

/** What Dovecot opens: the service's SQLite file, or PostgreSQL as a role that may read the two views only. */
export type MailServerDatabase =
  | { readonly kind: 'sqlite'; readonly file: string }
  | {
      readonly kind: 'postgres';
      readonly host: string;
      readonly port: number;
      readonly name: string;
      readonly user: string;
      readonly password: string;
    };

/** A file to write; `mode` as in chmod. Owner and group are root. */
export interface GeneratedFile {
  readonly path: string;
  readonly mode: number;
  readonly text: string;
}

/** Where Dovecot listens for Reelgate, in its own folder of sockets. */
export const REELGATE_SOCKET = 'reelgate-auth';

/** Unix sockets between Dovecot, Postfix and Reelgate. */
export const socketPaths = (root: string) => ({
  /** Postfix verifies logins with Dovecot. */
  sasl: `${root}/postfix/spool/private/auth`,
  /** Postfix delivers mail to Dovecot. */
  lmtp: `${root}/postfix/spool/private/dovecot-lmtp`,
  /** Reelgate verifies passwords with Dovecot: DOVECOT_AUTH. */
  reelgate: `${root}/dovecot-run/${REELGATE_SOCKET}`,
});
