import type { SiteSetting } from '../../contract/service.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import { invalidRequest, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import { FreshReadSingleFlight } from '../platform/concurrency.ts';
import { type Config, type Live, type SiteSettings, toCamelCase } from '../platform/config.ts';
import type { Database } from '../platform/db/database.ts';
import type { PubSub } from '../platform/db/pub-sub.ts';
import type { Actor } from '../platform/http/route-registry.ts';
import type { Log } from '../platform/log.ts';
import { SETTINGS, SITE_SETTINGS, type SiteSettingName } from '../platform/setting-definitions.ts';
import { ConfigError, type Setting } from '../platform/setting-readers.ts';
import { type SealContext, type SealedColumn, UnsealError, type Vault } from '../platform/vault.ts';
import type { Executor, Tables, Trx } from '../tables.ts';

interface SettingsServiceDependencies {
  readonly database: Database<Tables>;
  readonly store: SettingsStore;
  readonly config: Config;
  readonly live: LiveSettings;
  readonly auditLog: AuditLog;
  readonly pubSub: PubSub;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly log: Log;
}

const CHANNEL = 'site_settings';
/** Signals between processes may be lost; a change is seen after this interval in any case. */
const RELOAD_MS = 5_000;
/** The audit log stores only the beginning of a logo. */
const MAX_AUDITED_LENGTH = 200;

/** Reads and changes the settings that administrators store in the database. */
class SettingsService {
  readonly #dependencies: SettingsServiceDependencies;
  /** One at a time, so that a slow read does not put older settings back into effect after a newer one. */
  readonly #reads = new FreshReadSingleFlight(() => this.#readTexts());
  #timer: NodeJS.Timeout | undefined;
  #unsubscribe = (): void => {};

  constructor(dependencies: SettingsServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** Reads the stored settings, and follows the changes of all processes until `close`. */
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
    const { live, log } = this.#dependencies;
    for (const name of live.apply(await this.#reads.read()))
      log.warn({ setting: name }, 'a stored setting cannot be used; its default is in effect');
  }

  async list(): Promise<SiteSetting[]> {
    const texts = await this.#readTexts();
    return (Object.keys(SHOWN_SETTINGS) as ShownSettingName[]).map((name) => this.#describe(name, texts));
  }

  /**
   * @param value null: reset to the default
   * @throws AppError not_exist, invalid_request
   */
  async set(actor: Actor, name: string, value: string | null): Promise<SiteSetting> {
    const { database, store, live, auditLog, pubSub, vault, clock } = this.#dependencies;
    if (!isShown(name)) throw notExistError('setting');
    if (!live.isStorable(name)) throw invalidRequest(`${name} is set where the service is started`, 'name');
    const setting: Setting = SITE_SETTINGS[name];
    const given = value?.trim() ?? '';
    await database.transaction(async (trx) => {
      const before = (await this.#readTexts(trx)).get(name);
      const text = given === '' ? undefined : restoreSecrets(setting, name, given, before);
      if (text !== undefined) assertUsable(setting, name, text);
      if (text === undefined) await store.remove(trx, name);
      else
        await store.write(trx, name, setting.secret === true ? vault.seal(text, settingCell(name)) : text, clock.now());
      const [old, now] = [before, text].map((each) => toAuditText(setting, name, each));
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
    return this.#describe(name, await this.#readTexts());
  }

  /** Stored texts by setting name, those of secret settings decrypted; unreadable ones are empty. */
  async #readTexts(db?: Executor): Promise<ReadonlyMap<string, string>> {
    const rows = [...(await this.#dependencies.store.readAll(db))];
    return new Map(rows.map(([name, value]) => [name, isSecret(name) ? this.#open(name, value) : value]));
  }

  #open(name: string, sealed: string): string {
    try {
      return this.#dependencies.vault.open(sealed, settingCell(name));
    } catch (error) {
      if (error instanceof UnsealError) return '';
      throw error;
    }
  }

  #describe(name: ShownSettingName, texts: ReadonlyMap<string, string>): SiteSetting {
    const { live, config } = this.#dependencies;
    const setting: Setting = { ...SETTINGS, ...SITE_SETTINGS }[name];
    const { group, kind } = SHOWN_SETTINGS[name];
    const inEffect: Readonly<Record<string, unknown>> = { ...config, ...live.current() };
    const value = inEffect[toCamelCase(name)];
    const shown = toShownText(setting, value);
    const isStorable = live.isStorable(name);
    const isStored = isStorable && texts.has(name);
    return {
      name,
      group,
      kind,
      choices: [...(setting.choices ?? [])],
      value: shown,
      default: setting.default ?? '',
      source: config.environmentNames.has(name) ? 'environment' : isStored ? 'database' : 'default',
      is_set: setting.secret === true && setting.redaction === undefined ? Boolean(value) : shown !== '',
      editable: isStorable,
    };
  }

  close(): void {
    clearInterval(this.#timer);
    this.#unsubscribe();
  }
}

/** @throws AppError invalid_request */
function assertUsable(setting: Setting, name: string, text: string): void {
  try {
    setting.read(text, name);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw setting.redaction === undefined
      ? invalidRequest(`${name} cannot have this value`, 'value')
      : invalidRequest(`${name} cannot have this value: ${error.problem}`, 'value');
  }
}

/** The text to store for a given one: secrets that it lacks are taken from the stored text. */
function restoreSecrets(setting: Setting, name: string, given: string, stored: string | undefined): string {
  return setting.redaction?.restore(given, readOrDefault(setting, name, stored)) ?? given;
}

function readOrDefault(setting: Setting, name: string, text: string | undefined): unknown {
  try {
    return setting.read(text, name);
  } catch {
    return setting.read(setting.default, name);
  }
}

function toShownText({ secret, redaction }: Setting, value: unknown): string {
  if (redaction !== undefined) return redaction.show(value);
  if (value === undefined || secret === true) return '';
  return typeof value === 'boolean' ? `${Number(value)}` : `${value as string | number}`;
}

/** The audit log stores settings without secrets. */
function toAuditText(setting: Setting, name: string, text: string | undefined): string | undefined {
  if (text === undefined || setting.secret !== true) return text?.slice(0, MAX_AUDITED_LENGTH);
  return toShownText(setting, readOrDefault(setting, name, text)) || '[set]';
}

/** The site settings in effect: from the environment, else the stored value, else the default. */
class LiveSettings implements Live<SiteSettings> {
  readonly #base: Pick<Config, 'siteDefaults' | 'environmentNames'>;
  #current: SiteSettings;

  constructor(base: Pick<Config, 'siteDefaults' | 'environmentNames'>) {
    this.#base = base;
    this.#current = base.siteDefaults;
  }

  /** A snapshot, replaced as a whole by each change. */
  current(): SiteSettings {
    return this.#current;
  }

  /** Whether a stored value would take effect: not if the environment sets it, or if it is fixed at start. */
  isStorable(name: string): name is SiteSettingName {
    return Object.hasOwn(SITE_SETTINGS, name) && !this.#base.environmentNames.has(name);
  }

  /** Applies stored texts. @returns the names of invalid ones, which are ignored */
  apply(texts: ReadonlyMap<string, string>): readonly string[] {
    const values: Record<string, unknown> = {};
    const unusable: string[] = [];
    for (const [name, text] of texts) {
      if (!this.isStorable(name)) continue;
      try {
        values[toCamelCase(name)] = SITE_SETTINGS[name].read(text, name);
      } catch {
        unusable.push(name);
      }
    }
    this.#current = { ...this.#base.siteDefaults, ...values };
    return unusable;
  }
}

const shown = (group: SiteSetting['group'], kind: SiteSetting['kind'] = 'text') => ({ group, kind });

/** The settings page in display order: the site settings, and three of the environment with their source. */
const SHOWN_SETTINGS = {
  SITE_NAME: shown('site'),
  SITE_LOGO: shown('site', 'picture'),
  SITE_ACCENT: shown('site', 'choice'),
  SIGN_IN_NOTICE: shown('site', 'long-text'),
  STATUS_PAGE: shown('site', 'choice'),
  BETA_FEATURES: shown('site', 'long-text'),
  REGISTRATION: shown('accounts', 'choice'),
  REQUIRE_SECOND_FACTOR: shown('accounts', 'choice'),
  OAUTH_CLIENT_METADATA: shown('accounts', 'choice'),
  PASSWORD_SIGN_IN: shown('accounts', 'choice'),
  OIDC_PROVIDERS: shown('accounts', 'providers'),
  DEVICE_CODES_PER_ADDRESS: shown('accounts', 'number'),
  CLAUDE_CODE_SIGN_IN: shown('accounts', 'choice'),
  DEFAULT_VIDEO_MODEL: shown('site'),
  PROMPT_MODEL: shown('site'),
  FILES_IMAGE_MB: shown('files', 'number'),
  FILES_AUDIO_MB: shown('files', 'number'),
  FILES_VIDEO_MB: shown('files', 'number'),
  FILES_JSONL_MB: shown('files', 'number'),
  NEW_USER_QUOTA: shown('credits', 'number'),
  NEW_USER_PLAN: shown('credits'),
  TIME_ZONE: shown('credits'),
  LOW_QUOTA: shown('credits', 'number'),
  CURRENCY: shown('credits'),
  QUOTA_PER_UNIT: shown('credits'),
  RETENTION_TASK_DETAIL_DAYS: shown('retention', 'number'),
  RETENTION_REQUESTS_DAYS: shown('retention', 'number'),
  RETENTION_NOTIFICATIONS_DAYS: shown('retention', 'number'),
  RETENTION_AUDIT_DAYS: shown('retention', 'number'),
  RETENTION_LOGINS_DAYS: shown('retention', 'number'),
  RETENTION_EVENTS_DAYS: shown('retention', 'number'),
  RETENTION_LEDGER_DAYS: shown('retention', 'number'),
  PHONE_HTTP_URL: shown('phone'),
  MESSAGING_VERIFY_URL: shown('messaging'),
  SMTP_URL: shown('mail'),
  SMTP_FROM: shown('mail'),
} as const satisfies Readonly<
  Record<SiteSettingName | 'QUOTA_PER_UNIT' | 'SMTP_URL' | 'SMTP_FROM', ReturnType<typeof shown>>
>;

type ShownSettingName = keyof typeof SHOWN_SETTINGS;

const isShown = (name: string): name is ShownSettingName => Object.hasOwn(SHOWN_SETTINGS, name);

const SECRET_NAMES = (Object.entries(SITE_SETTINGS) as [string, Setting][])
  .filter(([, setting]) => setting.secret === true)
  .map(([name]) => name);

const isSecret = (name: string): boolean => SECRET_NAMES.includes(name);

const settingCell = (name: string): SealContext => ({ table: 'site_settings', row: name, column: 'value' });

/** The secret settings, for key rotation. There are few, so one read returns all. */
export const sealedSettings = (kysely: Executor): SealedColumn => ({
  async readAfter(after) {
    if (after > 0) return [];
    const rows = await kysely
      .selectFrom('site_settings')
      .select(['name', 'value'])
      .where('name', 'in', SECRET_NAMES)
      .execute();
    return rows.map(({ name, value }, index) => ({ id: index + 1, context: settingCell(name), sealed: value }));
  },
  replace: ({ context, sealed: old }, value) =>
    kysely
      .updateTable('site_settings')
      .set({ value })
      .where('name', '=', String(context.row))
      .where('value', '=', old)
      .execute(),
});

/** SQL of `site_settings`. */
export class SettingsStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Stored texts by setting name. */
  async readAll(db: Executor = this.#database.kysely): Promise<ReadonlyMap<string, string>> {
    const rows = await db.selectFrom('site_settings').select(['name', 'value']).execute();
    return new Map(rows.map(({ name, value }) => [name, value]));
  }

  async find(name: string, db: Executor = this.#database.kysely): Promise<string | undefined> {
    const row = await db.selectFrom('site_settings').select('value').where('name', '=', name).executeTakeFirst();
    return row?.value;
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
