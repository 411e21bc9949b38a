import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { dovecotFiles } from './dovecot-config.ts';
import type { MailServerConfigOptions } from './dovecot-postfix-options-and-socket-paths.ts';
import { postfixFiles } from './postfix-config.ts';

/** Writes the configuration of both servers and the folders they expect. Existing mail and queues stay untouched. */
export async function writeMailServerConfig(layout: MailServerConfigOptions): Promise<void> {
  const { root } = layout;
  for (const [folder, mode] of [
    // Three system users need access: Dovecot's, Postfix' and the service's.
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
 * SQL that makes the role Dovecot reads with: it sees the two views and nothing else. To be run by the owner of the
 * database once the service has migrated it.
 */
export function grantStatements(role: string, password: string): string[] {
  const name = `"${role.replaceAll('"', '""')}"`;
  return [
    `CREATE ROLE ${name} LOGIN PASSWORD '${password.replaceAll("'", "''")}'`,
    `GRANT SELECT ON mail_auth_mailbox, mail_auth_app TO ${name}`,
  ];
}
