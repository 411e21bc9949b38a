import { type Config, toCamelCase } from '../platform/config.ts';
import { SETTINGS } from '../platform/setting-definitions.ts';
import { SITE_SETTINGS, type SiteSettingName } from './setting-groups-and-kinds.ts';

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
