import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Writes the configuration of both servers and the folders they expect. Existing mail and queues stay untouched. */
export async function writeMailServerConfig(layout: MailServerConfigOptions): Promise<void> {
  const { root } = layout;
  for (const [folder, mode] of [
    // Three system users need access: those of Dovecot, Postfix and the service.
    [root, 0o755],
    [`${root}/etc`, 0o700],
    [`${root}/mail`, 0o700],
    [`${root}/log`, 0o755],
    [`${root}/dovecot-run`, 0o755],
    [`${root}/dovecot-state`, 0o755],
    [`${root}/postfix`, 0o755],
    [`${root}/postfix/conf`, 0o755],
    [`${root}/postfix/spool`, 0o755],
    [`${root}/postfix/data`, 0o700],
  ] as const) {
    await mkdir(folder, { recursive: true, mode });
    // Root's umask may be more restrictive; the same applies to the files below.
    await chmod(folder, mode);
  }
  for (const { path, mode, text } of [...dovecotFiles(layout), ...postfixFiles(layout)]) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text, { mode });
    await chmod(path, mode);
  }
}

/**
 * SQL that creates Dovecot's read-only role, which sees only the two views. The database's owner runs it after the
 * service has migrated the database.
 */
export function grantStatements(role: string, password: string): string[] {
  const name = `"${role.replaceAll('"', '""')}"`;
  return [
    `CREATE ROLE ${name} LOGIN PASSWORD '${password.replaceAll("'", "''")}'`,
    `GRANT SELECT ON mail_auth_mailbox, mail_auth_app TO ${name}`,
  ];
}

/**
 * Configuration of Dovecot 2.3 (Debian 12) that reads our two views. Dovecot 2.4 has another configuration language.
 *
 * The login cache stays off (`auth_cache_size = 0`), because a cached login would accept a replaced password until it
 * expires. `auth_failure_delay` is one second instead of the usual two: our consistency check must receive a refusal
 * within three, and guessing is still slowed by the growing penalty per IP.
 */
export function dovecotFiles(layout: MailServerConfigOptions): GeneratedFile[] {
  const { root } = layout;
  return [
    { path: `${root}/etc/dovecot.conf`, mode: 0o600, text: mainFile(layout) },
    { path: `${root}/etc/sql-app.conf.ext`, mode: 0o600, text: sqlFile(layout.database, APP_QUERIES) },
    {
      path: `${root}/etc/sql-mailbox.conf.ext`,
      mode: 0o600,
      text: sqlFile(layout.database, mailboxQueries(layout.webmailNetworks)),
    },
  ];
}

// Dovecot escapes its variables before they reach the database.
const APP_QUERIES = {
  password_query: "SELECT username AS user, password FROM mail_auth_app WHERE username = '%u' AND service = '%s'",
};

const mailboxQueries = (webmailNetworks: readonly string[]) => ({
  password_query: `SELECT username AS user, password${
    webmailNetworks.length === 0 ? '' : `, '${webmailNetworks.join(',')}' AS allow_nets`
  } FROM mail_auth_mailbox WHERE username = '%u'`,
  user_query: "SELECT username AS user FROM mail_auth_mailbox WHERE username = '%u'",
  iterate_query: 'SELECT username AS user FROM mail_auth_mailbox',
});

function sqlFile(database: MailServerDatabase, queries: Readonly<Record<string, string>>): string {
  const connect =
    database.kind === 'sqlite'
      ? ['driver = sqlite', `connect = ${database.file}`]
      : [
          'driver = pgsql',
          `connect = host=${database.host} port=${database.port} dbname=${database.name} user=${database.user} password=${database.password} connect_timeout=5`,
        ];
  const lines = Object.entries(queries).map(([name, query]) => `${name} = ${query}`);
  return [...connect, 'default_pass_scheme = SSHA512', ...lines, ''].join('\n');
}

function mainFile(layout: MailServerConfigOptions): string {
  const { root, ports, tls } = layout;
  const sockets = socketPaths(root);
  return `# Made by reelgate for Dovecot 2.3.
base_dir = ${root}/dovecot-run
state_dir = ${root}/dovecot-state
instance_name = reelgate
log_path = ${root}/log/dovecot.log
protocols = imap pop3 lmtp
listen = ${layout.listen}

ssl = required
ssl_cert = <${tls.certFile}
ssl_key = <${tls.keyFile}
ssl_min_protocol = TLSv1.2

disable_plaintext_auth = yes
auth_mechanisms = plain login
auth_username_format = %Lu
auth_cache_size = 0
auth_failure_delay = 1 secs
auth_verbose = no
mail_max_userip_connections = 20

mail_home = ${root}/mail/%d/%n
mail_location = maildir:~/Maildir
mail_uid = ${layout.mailUid}
mail_gid = ${layout.mailUid}
first_valid_uid = ${layout.mailUid}

# A miss or a mismatch in the first goes on to the second.
passdb {
  driver = sql
  args = ${root}/etc/sql-app.conf.ext
}
passdb {
  driver = sql
  args = ${root}/etc/sql-mailbox.conf.ext
}
userdb {
  driver = sql
  args = ${root}/etc/sql-mailbox.conf.ext
}

service imap-login {
  inet_listener imap {
    port = 0
  }
  inet_listener imaps {
    port = ${ports.imaps}
    ssl = yes
  }
}
service pop3-login {
  inet_listener pop3 {
    port = 0
  }
  inet_listener pop3s {
    port = ${ports.pop3s}
    ssl = yes
  }
}
service lmtp {
  unix_listener ${sockets.lmtp} {
    user = postfix
    group = postfix
    mode = 0600
  }
}
service auth {
  unix_listener ${sockets.sasl} {
    user = postfix
    group = postfix
    mode = 0660
  }
  unix_listener ${REELGATE_SOCKET} {
    group = ${layout.authGroup}
    mode = 0660
  }
}
service doveadm {
  inet_listener http {
    address = 127.0.0.1
    port = ${ports.doveadm}
  }
}
doveadm_api_key = ${layout.doveadmKey}
${
  layout.slowsGuessing
    ? ''
    : `service anvil {
  unix_listener anvil-auth-penalty {
    mode = 0
  }
}
`
}
protocol lmtp {
  postmaster_address = postmaster@${layout.domain}
}

namespace inbox {
  inbox = yes
${[
  ['Drafts', '\\Drafts'],
  ['Sent', '\\Sent'],
  ['Trash', '\\Trash'],
  ['Junk', '\\Junk'],
]
  .map(([name, use]) => `  mailbox ${name} {\n    special_use = ${use}\n    auto = subscribe\n  }`)
  .join('\n')}
}
`;
}

/**
 * Configuration of Postfix 3.7 in front of that Dovecot: SMTPS for mail programs, one port for other mail servers.
 *
 * Postfix never opens our database. Dovecot verifies logins for it, and Dovecot's LMTP reports whether a recipient exists
 * (`reject_unverified_recipient`): Postfix's own system user could not read a SQLite file in WAL mode without write
 * permission on its folder. A negative result is cached for a minute only, because the address may be assigned at any
 * time.
 */
export function postfixFiles(layout: MailServerConfigOptions): GeneratedFile[] {
  return [
    { path: `${layout.root}/postfix/conf/main.cf`, mode: 0o644, text: postfixMainFile(layout) },
    { path: `${layout.root}/postfix/conf/master.cf`, mode: 0o644, text: masterFile(layout) },
  ];
}

function postfixMainFile(layout: MailServerConfigOptions): string {
  const { root, domain, tls } = layout;
  const settings: Record<string, string> = {
    compatibility_level: '3.6',
    queue_directory: `${root}/postfix/spool`,
    data_directory: `${root}/postfix/data`,
    maillog_file: `${root}/log/postfix.log`,
    maillog_file_prefixes: root,
    mail_owner: 'postfix',
    setgid_group: 'postdrop',
    myhostname: layout.hostname,
    inet_interfaces: layout.listen === '*' ? 'all' : layout.listen,
    inet_protocols: layout.listen === '*' ? 'all' : 'ipv4',
    // No network may relay mail without a login.
    mynetworks: '',
    mydestination: '',
    local_recipient_maps: '',
    alias_maps: '',
    alias_database: '',
    virtual_mailbox_domains: domain,
    virtual_transport: `lmtp:unix:private/dovecot-lmtp`,
    virtual_alias_maps: operatorAliases(layout),
    ...(layout.sendsOutside ? {} : { default_transport: 'error:5.7.1 mail leaves this server to nobody' }),
    biff: 'no',
    append_dot_mydomain: 'no',
    recipient_delimiter: '',
    message_size_limit: '26214400',
    mailbox_size_limit: '0',
    smtpd_banner: '$myhostname ESMTP',
    disable_vrfy_command: 'yes',
    smtpd_helo_required: 'yes',
    smtpd_client_auth_rate_limit: '60',
    smtpd_tls_cert_file: tls.certFile,
    smtpd_tls_key_file: tls.keyFile,
    smtpd_tls_security_level: 'may',
    smtpd_tls_mandatory_protocols: '>=TLSv1.2',
    smtpd_tls_protocols: '>=TLSv1.2',
    smtp_tls_security_level: 'may',
    smtpd_sasl_type: 'dovecot',
    smtpd_sasl_path: 'private/auth',
    smtpd_sasl_auth_enable: 'no',
    // A login may send only from its own e-mail address. `$$` is Postfix for one `$`.
    smtpd_sender_login_maps: 'regexp:{{/^(.*)$$/ $${1}}}',
    smtpd_relay_restrictions: 'permit_sasl_authenticated, reject_unauth_destination',
    smtpd_recipient_restrictions: 'reject_non_fqdn_recipient, reject_unverified_recipient',
    unverified_recipient_reject_code: '550',
    address_verify_map: `btree:${root}/postfix/data/verify`,
    address_verify_negative_refresh_time: '30s',
    address_verify_negative_expire_time: '60s',
    address_verify_poll_delay: '1s',
    address_verify_poll_count: '5',
  };
  return `# Made by reelgate for Postfix 3.7.\n${Object.entries(settings)
    .map(([name, value]) => `${name} = ${value}`.trimEnd())
    .join('\n')}\n`;
}

function operatorAliases({ domain, operator }: MailServerConfigOptions): string {
  if (operator === undefined) return '';
  return `inline:{ {postmaster@${domain}=${operator}}, {abuse@${domain}=${operator}} }`;
}

/** Columns: service type private unprivileged chroot wakeup maxproc command. */
function masterFile({ listen, ports }: MailServerConfigOptions): string {
  const at = (port: number) => (listen === '*' ? `${port}` : `${listen}:${port}`);
  const smtps = [
    'syslog_name=postfix/smtps',
    'smtpd_tls_wrappermode=yes',
    'smtpd_sasl_auth_enable=yes',
    'smtpd_client_restrictions=permit_sasl_authenticated,reject',
    'smtpd_sender_restrictions=reject_sender_login_mismatch',
    'smtpd_relay_restrictions=permit_sasl_authenticated,reject',
  ];
  return `# Made by reelgate for Postfix 3.7.
${at(ports.mx)} inet n - n - - smtpd
${at(ports.smtps)} inet n - n - - smtpd
${smtps.map((option) => `  -o ${option}`).join('\n')}
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
proxywrite unix - - n - 1 proxymap
smtp unix - - n - - smtp
relay unix - - n - - smtp
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
local unix - n n - - local
virtual unix - n n - - virtual
lmtp unix - - n - - lmtp
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
`;
}

/**
 * Folders and ports of a Dovecot and Postfix pair. One folder contains everything, so that nothing in `/etc` is read.
 */
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
    /** Port on which other mail servers deliver. */
    readonly mx: number;
    /** Dovecot's HTTP API, always on loopback. */
    readonly doveadm: number;
  };
  readonly tls: { readonly certFile: string; readonly keyFile: string };
  readonly database: MailServerDatabase;
  readonly doveadmKey: string;
  /** Numeric owner of the stored mail; needs no entry in passwd. */
  readonly mailUid: number;
  /** Group that may use the auth socket: the group Reelgate runs in. */
  readonly authGroup: string;
  /**
   * Networks from which the mailbox password is accepted: the webmail's. An empty list accepts it from everywhere; with
   * a value, mail programs can only use the application password.
   */
  readonly webmailNetworks: readonly string[];
  /** Receives mail for postmaster and abuse (RFC 2142); undefined on a machine that receives no mail. */
  readonly operator: string | undefined;
  /** Whether an IP with wrong logins is delayed increasingly; turn off only if all clients share one IP. */
  readonly slowsGuessing: boolean;
  /** False refuses recipients outside the domain. */
  readonly sendsOutside: boolean;
}

/**
 * The database Dovecot opens: the service's SQLite file, or PostgreSQL with a role that may read only the two views.
 */
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
interface GeneratedFile {
  readonly path: string;
  readonly mode: number;
  readonly text: string;
}

/** Socket for Reelgate in Dovecot's socket folder. */
const REELGATE_SOCKET = 'reelgate-auth';

/** Unix sockets between Dovecot, Postfix and Reelgate. */
export const socketPaths = (root: string) => ({
  /** Postfix verifies logins with Dovecot. */
  sasl: `${root}/postfix/spool/private/auth`,
  /** Postfix delivers mail to Dovecot. */
  lmtp: `${root}/postfix/spool/private/dovecot-lmtp`,
  /** Reelgate verifies passwords with Dovecot: DOVECOT_AUTH. */
  reelgate: `${root}/dovecot-run/${REELGATE_SOCKET}`,
});
