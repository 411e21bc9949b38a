/**
 * Local parts that cannot be requested. The owner of an administrative e-mail address of a domain can obtain a certificate for it
 * (CA/Browser Forum Baseline Requirements 3.2.2.4.4: admin, administrator, webmaster, hostmaster, postmaster) or pass
 * for its operator. The first block is RFC 2142.
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
 * Two local parts with the same skeleton are easily confused; only one of them is ever assigned. One that has nothing but
 * separators is its own skeleton.
 */
export function withoutSeparators(localPart: string): string {
  return localPart.replace(/[._-]/g, '') || localPart;
}

/** True for names of RFC 2142, administrative names, lists' `-request` and names that resemble one of them. */
export function isReserved(localPart: string): boolean {
  return (
    RESERVED.has(withoutSeparators(localPart)) || /(^owner[._-]|[._-](request|owner|bounces|admin)$)/.test(localPart)
  );
}
