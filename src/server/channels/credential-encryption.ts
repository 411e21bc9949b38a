import type { Vault } from '../platform/secrets.ts';
import type { Channel } from './channel-directory.ts';

/** Credentials can be moved to no other row: the seal is made for this one. */
export const credentialCell = (id: number) => ({ table: 'channels', row: id, column: 'credentials' });

export const encryptCredentials = (vault: Vault, id: number, credentials: Channel['credentials']): string =>
  vault.seal(JSON.stringify(credentials), credentialCell(id));

/** @throws UnsealError */
export const decryptCredentials = (
  vault: Vault,
  row: { readonly id: number; readonly credentials: string },
): Channel['credentials'] => JSON.parse(vault.open(row.credentials, credentialCell(row.id)));
