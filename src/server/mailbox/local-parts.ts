const MIN_LENGTH = 3;
const MAX_LENGTH = 30;

/**
 * Whether a text is a local part as the contract allows it: 3 to 30 of a-z 0-9 . _ -, not starting or ending with a dot
 * or a hyphen. Narrower than the contract in one point: two dots in a row are not a valid address (RFC 5321 4.1.2,
 * Dot-string), so no mail server accepts them.
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

/** Number of numeric suffixes to try for each name. */
const MAX_NUMBER = 200;

/**
 * Candidate local parts for an account, best first: its user name, the name with a number, then `user` and the
 * account's id. The search is limited, because every variant of a user name such as `owner-x` is reserved and an
 * unlimited one would never end.
 *
 * @param username any text
 * @param accountId used if the user name yields no valid local part
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

/**
 * Local parts that cannot be requested. The owner of an administrative address of a domain can obtain a certificate for
 * the domain (CA/Browser Forum Baseline Requirements 3.2.2.4.4: admin, administrator, webmaster, hostmaster,
 * postmaster) or impersonate its operator. The first block is RFC 2142.
 */
const RESERVED = new Set(
  `abuse noc security postmaster hostmaster webmaster usenet news www uucp ftp info marketing sales support list
  admin administrator root sysadmin sysadm system operator superuser sudo su mailer-daemon mailerdaemon daemon nobody
  bounce bounces no-reply noreply donotreply do-not-reply it mis is ssladmin ssladministrator sslwebmaster trouble
  billing payment payments invoice invoices accounts accounting finance refund refunds help helpdesk service services
  contact office team staff hr jobs careers legal privacy compliance dpo gdpr press media dmarc dmarc-reports dmarc-rua
  dmarc-ruf tls-reports tlsrpt arf autodiscover autoconfig autoreply wpad isatap api app localhost localdomain host
  domain dns ns mx mail email imap pop pop3 smtp webmail mailbox everyone all users user guest anonymous public test
  tester testing demo example null undefined none void unknown default owner moderator mod request subscribe
  unsubscribe majordomo mailman listserv root-mail cert certificate certificates ssl tls pki ca csirt cert-team psirt
  status monitor monitoring alert alerts notification notifications notify reelgate official account verification
  verify login signin password passwords reset`
    .split(/\s+/)
    .map(withoutSeparators),
);

/**
 * Two local parts with the same skeleton are easily confused, so only one of them is ever assigned. A name of
 * separators only is its own skeleton.
 */
export function withoutSeparators(localPart: string): string {
  return localPart.replace(/[._-]/g, '') || localPart;
}

/** Whether a name is in RFC 2142, administrative, a list's `-request`, or resembles one of these. */
export function isReserved(localPart: string): boolean {
  return (
    RESERVED.has(withoutSeparators(localPart)) || /(^owner[._-]|[._-](request|owner|bounces|admin)$)/.test(localPart)
  );
}
