import type { Vault } from '../platform/secrets.ts';
import type { Channel } from './channels.ts';

/** Credentials can be moved to no other row: the seal is made for this one. */
export const placeOf = (id: number) => ({ table: 'channels', row: id, column: 'credentials' });

export const sealCredentials = (vault: Vault, id: number, credentials: Channel['credentials']): string =>
  vault.seal(JSON.stringify(credentials), placeOf(id));

/** @throws SealBroken */
export const openCredentials = (
  vault: Vault,
  row: { readonly id: number; readonly credentials: string },
): Channel['credentials'] => JSON.parse(vault.open(row.credentials, placeOf(row.id)));
