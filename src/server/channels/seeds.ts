import type { ModelKind } from '../../contract/model-kinds.ts';
import type { Price } from '../../contract/pricing.ts';
import type { Clock } from '../platform/clock.ts';
import type { Vault } from '../platform/vault.ts';
import { encryptCredentials, toCredentialList } from './credentials.ts';
import type { CatalogStore, Channel } from './directory.ts';
import type { ChannelVendor } from './tables.ts';

/** A model shipped with this release. */
export interface SeedModel {
  readonly id: string;
  readonly vendor: ChannelVendor;
  readonly kind: ModelKind;
  readonly price: Price;
}

/**
 * Creates enabled rows for models that were never seeded before. A model an administrator edits or removes is not
 * changed or seeded again.
 */
export async function seedModels(store: CatalogStore, clock: Clock, models: readonly SeedModel[]): Promise<void> {
  const missing = await store.findUnseeded(models.map(({ id }) => id));
  if (missing.length === 0) return;
  await store.change(async (trx) => {
    const now = clock.now();
    const added = await store.markSeeded(trx, missing);
    const rows = models
      .filter(({ id }) => added.has(id))
      .map(({ id, vendor, kind, price }) => ({
        id,
        vendor,
        kind,
        price: JSON.stringify(price),
        enabled: 1 as const,
        created_at: now,
        updated_at: now,
      }));
    await store.addModels(trx, rows);
  });
}

/** The channel of a simulator. */
export interface SandboxChannel {
  readonly vendor: ChannelVendor;
  /** Distinguishes channels to several simulators of one vendor; default: the vendor. */
  readonly name?: string;
  readonly baseUrl: string;
  readonly credentials: Channel['credentials'];
  readonly models: readonly string[];
  readonly options?: Channel['options'];
}

/**
 * Creates one channel per simulator. It is found by its name at every start, because simulators listen on new ports and
 * issue new credentials. An administrator's settings of enabled, priority and weight are kept.
 */
export async function ensureSandboxChannels(
  dependencies: { readonly store: CatalogStore; readonly vault: Vault; readonly clock: Clock },
  simulators: readonly SandboxChannel[],
): Promise<void> {
  const { store, vault, clock } = dependencies;
  await store.change(async (trx) => {
    const now = clock.now();
    for (const { vendor, name = vendor, baseUrl, credentials, models, options } of simulators) {
      const found = await store.sandboxChannel(trx, name);
      const present = {
        base_url: baseUrl,
        models: JSON.stringify(models),
        options: JSON.stringify({ ...options, private: true }),
        updated_at: now,
      };
      const id =
        found?.id ??
        (await store.addChannel(trx, {
          ...present,
          name: `${name} (sandbox)`,
          vendor,
          credentials: '',
          priority: 0,
          weight: 1,
          enabled: 1,
          sandbox: name,
          created_at: now,
        }));
      const sealed = encryptCredentials(vault, id, toCredentialList([{ values: credentials }]));
      await store.setChannel(trx, id, { ...present, credentials: sealed });
    }
  });
}
