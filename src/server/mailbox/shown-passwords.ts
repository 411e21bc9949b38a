import type { Notice, Notifier } from '../notifications/notifier.ts';
import type { Database } from '../platform/db/database.ts';
import type { Tables, Trx } from '../tables.ts';

/** The console's mailbox page, where the application password is replaced. */
const MAILBOX_PAGE = '/mailbox';

/** A device sign-in that has ended. */
interface EndedDevice {
  /** Id of the authorization. */
  readonly id: number;
  readonly user_id: number;
  /** The name the device sent; may be empty. */
  readonly client_name: string;
}

/** Notifies owners when a device sign-in ends that was shown a password of their mailbox. */
export class SeenPasswordNotices {
  readonly #deviceReads: DevicesShownPasswordStore;
  readonly #notifier: Notifier;

  constructor(deviceReads: DevicesShownPasswordStore, notifier: Notifier) {
    this.#deviceReads = deviceReads;
    this.#notifier = notifier;
  }

  /** Called in the transaction that ends the devices, for any reason. */
  async notifyEnded(trx: Trx, devices: readonly EndedDevice[]): Promise<void> {
    const ids = devices.map(({ id }) => id);
    const informed = new Set(await this.#deviceReads.take(trx, ids));
    for (const device of devices) if (informed.has(device.id)) await this.#notifier.notify(trx, toNotice(device));
  }
}

/**
 * Tells the owner that a device which saw a password of the mailbox was signed out. Passwords outlive the sign-in, so
 * the owner must decide whether the device may keep them.
 */
function toNotice({ id, user_id, client_name: name }: EndedDevice): Notice {
  const device = { en: name === '' ? 'A device' : `“${name}”`, 'zh-CN': name === '' ? '某台设备' : `“${name}”` };
  return {
    userId: user_id,
    topic: 'security',
    type: 'system',
    title: { en: 'A signed-out device has seen your mailbox password', 'zh-CN': '已退出的设备曾查看您的邮箱密码' },
    content: {
      en: `${device.en} was signed out. It had been shown a password of your mailbox, which still works. If you no longer trust the device, create a new application password.`,
      'zh-CN': `${device['zh-CN']}已退出登录。它曾获取您的邮箱密码，该密码仍然有效。如果您不再信任该设备，请重新生成应用专用密码。`,
    },
    targetUrl: MAILBOX_PAGE,
    deduplicationKey: `mailbox.device-ended:${id}`,
  };
}

/** Records which device sign-ins were shown a password of their account's mailbox. */
export class DevicesShownPasswordStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async record(authorizationId: number, userId: number, now: number): Promise<void> {
    await this.#database.kysely
      .insertInto('mailbox_device_reads')
      .values({ authorization_id: authorizationId, user_id: userId, created_at: now })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }

  /** Deletes the records of these device sign-ins. @returns the ids that had a record */
  async take(trx: Trx, authorizationIds: readonly number[]): Promise<number[]> {
    if (authorizationIds.length === 0) return [];
    const rows = await trx
      .deleteFrom('mailbox_device_reads')
      .where('authorization_id', 'in', authorizationIds)
      .returning('authorization_id')
      .execute();
    return rows.map((row) => row.authorization_id);
  }
}
