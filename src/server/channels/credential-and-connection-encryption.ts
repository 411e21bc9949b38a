import { UnsealError, type Vault } from '../platform/vault.ts';
import type { Channel } from './channel-directory-types.ts';
import type { CredentialList } from './credential-list-type-and-changes.ts';

/** How a channel's upstream is reached, beside its base URL. Sealed, since headers and the proxy may hold credentials. */
export type ChannelConnection = Pick<Channel, 'extraHeaders' | 'proxy'>;

/** Credentials can be moved to no other row: the seal is made for this one. */
export const credentialCell = (id: number) => ({ table: 'channels', row: id, column: 'credentials' });
export const connectionCell = (id: number) => ({ table: 'channels', row: id, column: 'connection' });

export const encryptCredentials = (vault: Vault, id: number, credentials: CredentialList): string =>
  vault.seal(JSON.stringify(credentials), credentialCell(id));

/** @throws UnsealError */
export const decryptCredentials = (
  vault: Vault,
  row: { readonly id: number; readonly credentials: string },
): CredentialList => JSON.parse(vault.open(row.credentials, credentialCell(row.id)));

/** Null where nothing is set. */
export const encryptConnection = (vault: Vault, id: number, connection: ChannelConnection): string | null =>
  connection.extraHeaders === undefined && connection.proxy === undefined
    ? null
    : vault.seal(JSON.stringify(connection), connectionCell(id));

/** @throws UnsealError */
export const decryptConnection = (
  vault: Vault,
  row: { readonly id: number; readonly connection: string | null },
): ChannelConnection => (row.connection === null ? {} : JSON.parse(vault.open(row.connection, connectionCell(row.id))));

/** What is decrypted, or the other value where the master key does not decrypt it. */
export function decryptOr<T extends object>(decrypt: () => T, otherwise: T): T {
  try {
    return decrypt();
  } catch (error) {
    if (error instanceof UnsealError) return otherwise;
    throw error;
  }
}
