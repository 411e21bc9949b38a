import {
  type GeneratedFile,
  type MailServerConfigOptions,
  type MailServerDatabase,
  REELGATE_SOCKET,
  socketPaths,
} from './dovecot-postfix-options-and-socket-paths.ts';

/**
 * Configuration of Dovecot 2.3 (Debian 12) that reads our two views. Dovecot 2.4 has another configuration language.
 *
 * The cache of logins stays off (`auth_cache_size = 0`): a cache would let a replaced password in until it expires.
 * `auth_failure_delay` is one second, not the usual two: our consistency check has to receive a refusal within three, and
 * guessing is still slowed by the growing penalty per IP.
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
