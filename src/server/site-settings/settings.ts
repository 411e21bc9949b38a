import type { SiteSetting } from '../../contract/site-settings.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import { invalidRequest, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import { type Config, toCamelCase } from '../platform/config.ts';
import type { Database } from '../platform/db/database.ts';
import type { PubSub } from '../platform/db/pub-sub.ts';
import type { Actor } from '../platform/http/request-context.ts';
import type { Log } from '../platform/log.ts';
import { SETTINGS, type SettingName } from '../platform/setting-definitions.ts';
import { ConfigError, type Setting } from '../platform/setting-readers.ts';
import type { Executor, Tables, Trx } from '../tables.ts';

interface SettingsServiceDependencies {
  readonly database: Database<Tables>;
  readonly store: SettingsStore;
  readonly live: EffectiveConfig;
  readonly auditLog: AuditLog;
  readonly pubSub: PubSub;
  readonly clock: Clock;
  readonly log: Log;
}

const CHANNEL = 'site_settings';
/** Signals between processes may be lost; after so long a change is seen in any case. */
const RELOAD_MS = 5_000;
/** A logo is kept in the audit log as its beginning. */
const MAX_AUDITED_LENGTH = 200;

/** The settings that an administrator stores in the database. */
export class SettingsService {
  readonly #dependencies: SettingsServiceDependencies;
  #timer: NodeJS.Timeout | undefined;
  #unsubscribe = (): void => {};

  constructor(dependencies: SettingsServiceDependencies) {
    this.#dependencies = dependencies;
  }

  get config(): Config {
    return this.#dependencies.live.config;
  }

  /** Reads what is stored, and follows the changes of all processes until `close`. */
  async start(): Promise<void> {
    const { pubSub, log } = this.#dependencies;
    await this.reload();
    const reload = (): void => {
      this.reload().catch((error: unknown) => log.warn({ err: error }, 'the settings could not be read'));
    };
    this.#unsubscribe = pubSub.subscribe(CHANNEL, reload, reload);
    this.#timer = setInterval(reload, RELOAD_MS).unref();
  }

  async reload(): Promise<void> {
    const { store, live, log } = this.#dependencies;
    for (const name of live.apply(await store.readAll()))
      log.warn({ setting: name }, 'a stored setting cannot be used; its default is in effect');
  }

  async list(): Promise<SiteSetting[]> {
    const texts = await this.#dependencies.store.readAll();
    return (Object.keys(SITE_SETTINGS) as SiteSettingName[]).map((name) => this.#describe(name, texts));
  }

  /**
   * @param value null: back to the default
   * @throws AppError not_exist, invalid_request
   */
  async set(actor: Actor, name: string, value: string | null): Promise<SiteSetting> {
    const { database, store, live, auditLog, pubSub, clock } = this.#dependencies;
    if (!isSiteSetting(name)) throw notExistError('setting');
    if (!live.storable().includes(name)) throw invalidRequest(`${name} is set where the service is started`, 'name');
    const text = value?.trim() ?? '';
    if (text !== '') this.#assertUsable(name, text);
    await database.transaction(async (trx) => {
      const before = (await store.readAll(trx)).get(name);
      if (text === '') await store.remove(trx, name);
      else await store.write(trx, name, text, clock.now());
      const [old, now] = [before, text === '' ? undefined : text].map((each) => each?.slice(0, MAX_AUDITED_LENGTH));
      await auditLog.record(trx, {
        ...actor,
        action: 'setting.update',
        target: `setting:${name}`,
        before: { [name]: old ?? null },
        after: { [name]: now ?? null },
      });
    });
    await this.reload();
    pubSub.publish(CHANNEL, name);
    return this.#describe(name, await store.readAll());
  }

  #assertUsable(name: SiteSettingName, text: string): void {
    try {
      SETTINGS[name].read(text, name);
    } catch (error) {
      if (error instanceof ConfigError) throw invalidRequest(`${name} cannot have this value`, 'value');
      throw error;
    }
    if (name === 'PHONE_DRIVER' && text === 'http' && this.config.phoneHttpUrl === undefined)
      throw invalidRequest('PHONE_HTTP_URL is required first', 'value');
  }

  #describe(name: SiteSettingName, texts: ReadonlyMap<string, string>): SiteSetting {
    const { live } = this.#dependencies;
    const setting: Setting = SETTINGS[name];
    const { group, kind } = SITE_SETTINGS[name];
    const value = live.config[toCamelCase(name) as keyof Config] as string | number | undefined;
    const isStored = live.storable().includes(name) && texts.has(name);
    return {
      name,
      group,
      kind,
      choices: [...(setting.choices ?? [])],
      value: value === undefined || setting.secret === true ? '' : `${value}`,
      default: setting.default ?? '',
      source: live.config.environmentNames.has(name) ? 'environment' : isStored ? 'database' : 'default',
      is_set: value !== undefined && value !== '',
      editable: live.storable().includes(name),
    };
  }

  close(): void {
    clearInterval(this.#timer);
    this.#unsubscribe();
  }
}

/** The settings an administrator may store, as they are in effect: of the environment, else stored, else their default. */
export class EffectiveConfig {
  /** Has current values of the stored settings at every read; take care to read it when a value is used. */
  readonly config: Config;
  readonly #base: Config;
  #stored: ReadonlyMap<string, unknown> = new Map();

  constructor(base: Config) {
    this.#base = base;
    const live: Config = { ...base };
    for (const name of this.storable())
      Object.defineProperty(live, toCamelCase(name), {
        enumerable: true,
        get: () => this.#stored.get(name) ?? base[toCamelCase(name) as keyof Config],
      });
    this.config = live;
  }

  /** Those that the environment does not give. */
  storable(): SiteSettingName[] {
    const names = Object.keys(SITE_SETTINGS) as SiteSettingName[];
    return names.filter((name) => SITE_SETTINGS[name].stored && !this.#base.environmentNames.has(name));
  }

  /** Takes stored texts over. @returns the names of those that cannot be used, which are left out */
  apply(texts: ReadonlyMap<string, string>): readonly string[] {
    const values = new Map<string, unknown>();
    const unusable: string[] = [];
    for (const name of this.storable()) {
      const text = texts.get(name);
      if (text === undefined) continue;
      try {
        values.set(name, SETTINGS[name].read(text, name));
      } catch {
        unusable.push(name);
      }
    }
    this.#stored = values;
    return unusable;
  }
}

type Shape = Pick<SiteSetting, 'group' | 'kind'> & {
  /** Read at every use, so that a stored value takes effect without a restart. */
  readonly stored: boolean;
};

const stored = (group: Shape['group'], kind: Shape['kind'] = 'text'): Shape => ({ group, kind, stored: true });
/** Shown with where it comes from, and changed in the environment only. */
const shown = (group: Shape['group']): Shape => ({ group, kind: 'text', stored: false });

/** The settings of the page of settings, in its order. */
const SITE_SETTINGS = {
  SITE_NAME: stored('site'),
  SITE_LOGO: stored('site', 'picture'),
  SITE_ACCENT: stored('site', 'choice'),
  SIGN_IN_NOTICE: stored('site', 'long-text'),
  REGISTRATION: stored('accounts', 'choice'),
  NEW_USER_QUOTA: stored('credits', 'number'),
  NEW_USER_PLAN: stored('credits'),
  LOW_QUOTA: stored('credits', 'number'),
  CURRENCY: stored('credits'),
  QUOTA_PER_UNIT: shown('credits'),
  RETENTION_TASK_DETAIL_DAYS: stored('retention', 'number'),
  RETENTION_REQUESTS_DAYS: stored('retention', 'number'),
  RETENTION_NOTIFICATIONS_DAYS: stored('retention', 'number'),
  RETENTION_AUDIT_DAYS: stored('retention', 'number'),
  RETENTION_LOGINS_DAYS: stored('retention', 'number'),
  RETENTION_EVENTS_DAYS: stored('retention', 'number'),
  RETENTION_LEDGER_DAYS: stored('retention', 'number'),
  PHONE_DRIVER: stored('phone', 'choice'),
  PHONE_HTTP_URL: stored('phone'),
  MESSAGING_VERIFY_URL: stored('messaging'),
  SMTP_URL: shown('mail'),
  SMTP_FROM: shown('mail'),
} as const satisfies Partial<Record<SettingName, Shape>>;

type SiteSettingName = keyof typeof SITE_SETTINGS;

const isSiteSetting = (name: string): name is SiteSettingName => Object.hasOwn(SITE_SETTINGS, name);

export class SettingsStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Stored texts by name. */
  async readAll(db: Executor = this.#database.kysely): Promise<ReadonlyMap<string, string>> {
    const rows = await db.selectFrom('site_settings').select(['name', 'value']).execute();
    return new Map(rows.map(({ name, value }) => [name, value]));
  }

  async write(trx: Trx, name: string, value: string, now: number): Promise<void> {
    await trx
      .insertInto('site_settings')
      .values({ name, value, updated_at: now })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ value, updated_at: now }))
      .execute();
  }

  async remove(trx: Trx, name: string): Promise<void> {
    await trx.deleteFrom('site_settings').where('name', '=', name).execute();
  }
}
