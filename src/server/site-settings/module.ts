import type { AuditLog } from '../accounts/audit-log.ts';
import type { Clock } from '../platform/clock.ts';
import type { Config, Live, SiteSettings } from '../platform/config.ts';
import type { Database } from '../platform/db/database.ts';
import type { PubSub } from '../platform/db/pub-sub.ts';
import type { Log } from '../platform/log.ts';
import type { Vault } from '../platform/vault.ts';
import type { Tables } from '../tables.ts';
import { LiveSettings, SettingsService, SettingsStore } from './settings.ts';

interface SiteDependencies {
  readonly config: Config;
  readonly database: Database<Tables>;
  readonly auditLog: AuditLog;
  readonly pubSub: PubSub;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly log: Log;
}

/** The part of this capability that its routes and app.ts use. */
export interface Site {
  readonly settings: SettingsService;
  /** The stored texts, of which other capabilities keep their own. */
  readonly store: SettingsStore;
  /** The site settings in effect. */
  readonly live: Live<SiteSettings>;
}

/** Constructs the site settings capability and reads the stored settings. */
export async function makeSite(dependencies: SiteDependencies): Promise<Site> {
  const live = new LiveSettings(dependencies.config);
  const store = new SettingsStore(dependencies.database);
  const settings = new SettingsService({ ...dependencies, live, store });
  await settings.start();
  return { settings, store, live };
}
