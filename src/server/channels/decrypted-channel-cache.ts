import type { Log } from '../platform/log.ts';
import { UnsealError, type Vault } from '../platform/vault.ts';
import { type CatalogChannel, toCatalogChannel } from './channel-and-model-catalog.ts';
import type { ChannelRow } from './channel-and-model-store.ts';
import {
  type ChannelConnection,
  decryptConnection,
  decryptCredentials,
} from './credential-and-connection-encryption.ts';
import { type CredentialList, NO_CREDENTIALS } from './credential-list-type-and-changes.ts';

interface DecryptedRow {
  readonly sealed: string;
  readonly sealedConnection: string | null;
  readonly updatedAt: number;
  /** Undefined where the master key does not open them. */
  readonly credentials: CredentialList | undefined;
  readonly connection: ChannelConnection;
}

export interface DecryptedChannelCacheDependencies {
  readonly vault: Vault;
  readonly log: Log;
  /** Whether channels of the simulators are used. */
  readonly sandbox: boolean;
  /** Called with each channel that is another one than before. */
  onChange(id: number): void;
}

/** Rows of channels as channels; what is sealed of them is opened once, until it changes. */
export class DecryptedChannelCache {
  readonly #dependencies: DecryptedChannelCacheDependencies;
  #known: ReadonlyMap<number, DecryptedRow> = new Map();
  constructor(dependencies: DecryptedChannelCacheDependencies) {
    this.#dependencies = dependencies;
  }

  toChannels(rows: readonly ChannelRow[]): CatalogChannel[] {
    const opened = rows.map((row) => [row, this.#decrypt(row)] as const);
    this.#known = new Map(opened.map(([{ id }, decrypted]) => [id, decrypted]));
    return opened.map(([row, { credentials, connection }]) => {
      const isUsed = row.sandbox === null || this.#dependencies.sandbox;
      const enabled = row.enabled === 1 && credentials !== undefined && isUsed;
      return toCatalogChannel(row, credentials ?? NO_CREDENTIALS, connection, enabled);
    });
  }

  /** A seal that does not open stops this channel, not the others; tasks pinned to it wait for the right key. */
  #decrypt(row: ChannelRow): DecryptedRow {
    const { vault, log, onChange } = this.#dependencies;
    const kept = this.#known.get(row.id);
    // A changed channel may be another account altogether: what was learned of the old one does not count.
    if (kept !== undefined && kept.updatedAt !== row.updated_at) onChange(row.id);
    const { credentials: sealed, connection: sealedConnection, updated_at: updatedAt } = row;
    if (kept?.sealed === sealed && kept.sealedConnection === sealedConnection) return { ...kept, updatedAt };
    try {
      const credentials = decryptCredentials(vault, row);
      return { sealed, sealedConnection, updatedAt, credentials, connection: decryptConnection(vault, row) };
    } catch (error) {
      if (!(error instanceof UnsealError)) throw error;
      log.error({ err: error, channelId: row.id }, "a channel's credentials do not open");
      return { sealed, sealedConnection, updatedAt, credentials: undefined, connection: {} };
    }
  }
}
