import type { GeneratedFile, MailServerConfigOptions } from './dovecot-postfix-options-and-socket-paths.ts';

/**
 * Configuration of Postfix 3.7 in front of that Dovecot: SMTPS for mail programs, one port for other mail servers.
 *
 * Postfix never opens our database. Dovecot verifies logins for it, and whether a recipient exists it learns from
 * Dovecot's LMTP (`reject_unverified_recipient`): Postfix's own system user could not read a SQLite file in WAL mode
 * without write permission on its folder. A negative result is cached for a minute only, since the e-mail address may
 * be given out at any time.
 */
export function postfixFiles(layout: MailServerConfigOptions): GeneratedFile[] {
  return [
    { path: `${layout.root}/postfix/conf/main.cf`, mode: 0o644, text: mainFile(layout) },
    { path: `${layout.root}/postfix/conf/master.cf`, mode: 0o644, text: masterFile(layout) },
  ];
}

function mainFile(layout: MailServerConfigOptions): string {
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
    // No network is trusted to relay mail without a login.
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
