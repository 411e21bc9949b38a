import { NAME_LENGTH_MAX } from '../../contract/device-auth.ts';
import type { Audit } from '../accounts/audit.ts';
import type { Database } from '../platform/db/database.ts';
import { notExist } from '../platform/errors.ts';
import type { Tables } from '../tables.ts';
import { nameAuthorization } from './authorization-store.ts';
import { nameDecided } from './code-store.ts';
import type { Origin } from './codes.ts';
import { toPlainLine } from './user-code.ts';

/**
 * Calls a device what its owner calls it, in place of what it calls itself; an empty name leaves the client's. From the
 * approval on, whether or not the device has collected its tokens. @throws not_exist
 */
export type NameDevice = (userId: number, id: number, name: string, from: Origin) => Promise<void>;

export function makeNameDevice(database: Database<Tables>, audit: Audit): NameDevice {
  return (userId, id, typed, from) =>
    database.transaction(async (trx) => {
      const name = toPlainLine(typed, NAME_LENGTH_MAX);
      // The code first, as whoever collects it does: a name given at that moment reaches one of the two.
      const decided = await nameDecided(trx, id, userId, name);
      const signedIn = await nameAuthorization(trx, id, userId, name);
      if (!decided && !signedIn) throw notExist('device');
      await audit.record(trx, {
        actorId: userId,
        action: 'device.rename',
        target: `device:${id}`,
        after: { name },
        ...from,
      });
    });
}
