/** A setting that cannot be used; the message is the one line shown before the process ends. */
export class ConfigError extends Error {
  constructor(setting: string, problem: string) {
    super(`${setting}: ${problem}`);
    this.name = 'ConfigError';
  }
}

/** What the documents say of a setting. */
export interface SettingDescription {
  /** The text used when the environment has none; undefined: none is needed, or it is required in some cases. */
  readonly default?: string;
  readonly description: string;
  /** Masked in every output. */
  readonly secret?: boolean;
  /** The least and the greatest value of a number. */
  readonly range?: readonly [least: number, most: number];
  /** The values it may have, where they are few. */
  readonly choices?: readonly string[];
}

/** One setting: its documentation and the reader that checks and types it. */
export interface Setting<T = unknown> extends SettingDescription {
  /**
   * @param text the trimmed text of the environment or the default; undefined where neither is given
   * @throws ConfigError
   */
  readonly read: (text: string | undefined, name: string) => T;
}

type WithDefault = SettingDescription & { readonly default: string };

const required = (text: string | undefined, name: string): string => {
  if (text === undefined) throw new ConfigError(name, 'is required');
  return text;
};

export const text = (about: WithDefault): Setting<string> => ({ ...about, read: required });

export const optionalText = (about: SettingDescription): Setting<string | undefined> => ({
  ...about,
  read: (value) => value,
});

/** A text of a certain form, or none; `problem` says what it must be. */
export const optionalPattern = (
  form: RegExp,
  problem: string,
  about: SettingDescription,
): Setting<string | undefined> => ({
  ...about,
  read(value, name) {
    if (value !== undefined && !form.test(value)) throw new ConfigError(name, problem);
    return value;
  },
});

/** A text of a certain form; `problem` says what it must be. */
export const pattern = (form: RegExp, problem: string, about: WithDefault): Setting<string> => ({
  ...about,
  read(value, name) {
    const given = required(value, name);
    if (!form.test(given)) throw new ConfigError(name, problem);
    return given;
  },
});

const toInteger = (value: string, name: string, least: number, most: number): number => {
  if (!/^\d{1,15}$/.test(value) || Number(value) < least || Number(value) > most)
    throw new ConfigError(name, `must be a whole number from ${least} to ${most}, not "${value}"`);
  return Number(value);
};

export const integer = (least: number, most: number, about: WithDefault): Setting<number> => ({
  ...about,
  range: [least, most],
  read: (value, name) => toInteger(required(value, name), name, least, most),
});

export const optionalInteger = (
  least: number,
  most: number,
  about: SettingDescription,
): Setting<number | undefined> => ({
  ...about,
  range: [least, most],
  read: (value, name) => (value === undefined ? undefined : toInteger(value, name, least, most)),
});

export const flag = (about: WithDefault): Setting<boolean> => ({
  ...about,
  read(value, name) {
    const given = required(value, name).toLowerCase();
    if (['1', 'true', 'yes', 'on'].includes(given)) return true;
    if (['0', 'false', 'no', 'off'].includes(given)) return false;
    throw new ConfigError(name, `must be 0 or 1, not "${value}"`);
  },
});

const toOneOf = <const T extends string>(value: string, name: string, values: readonly T[]): T => {
  const found = values.find((each) => each === value);
  if (found === undefined) throw new ConfigError(name, `must be one of ${values.join(', ')}, not "${value}"`);
  return found;
};

export const oneOf = <const T extends string>(values: readonly T[], about: WithDefault): Setting<T> => ({
  ...about,
  choices: values,
  read: (value, name) => toOneOf(required(value, name), name, values),
});

export const optionalOneOf = <const T extends string>(
  values: readonly T[],
  about: SettingDescription,
): Setting<T | undefined> => ({
  ...about,
  read: (value, name) => (value === undefined ? undefined : toOneOf(value, name, values)),
});

/** Comma-separated entries without blanks around them. */
const toList = (value: string | undefined): string[] =>
  (value ?? '')
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');

/** @param check throws an error whose message names the bad entry */
export const list = (
  check: (entries: readonly string[]) => unknown,
  about: SettingDescription,
): Setting<readonly string[]> => ({
  ...about,
  read(value, name) {
    const entries = toList(value);
    try {
      check(entries);
    } catch (error) {
      throw new ConfigError(name, (error as Error).message);
    }
    return entries;
  },
});

/** A URL without a slash at its end. */
export const url = (protocols: readonly string[], about: SettingDescription): Setting<string | undefined> => ({
  ...about,
  read(value, name) {
    if (value === undefined) return undefined;
    if (!URL.canParse(value) || !protocols.includes(new URL(value).protocol))
      throw new ConfigError(name, `must be a URL starting with ${protocols.map((each) => `${each}//`).join(' or ')}`);
    return value.replace(/\/+$/, '');
  },
});

/** Address of an API and the key that opens it. */
export interface UrlWithKey {
  /** Without the key. */
  readonly url: string;
  readonly key: string;
}

/** An HTTP URL with a key in the place of its password. A secret, since it contains the key. */
export const urlWithKey = (about: SettingDescription): Setting<UrlWithKey | undefined> => ({
  ...about,
  secret: true,
  read(value, name) {
    if (value === undefined) return undefined;
    const found = URL.canParse(value) ? new URL(value) : undefined;
    if (found === undefined || !['http:', 'https:'].includes(found.protocol) || found.password === '')
      throw new ConfigError(name, 'must be a URL with the key as its password, such as https://:KEY@mail.example.org');
    const key = decodeKey(found.password);
    if (key === undefined) throw new ConfigError(name, 'has a key that is not percent-encoded correctly');
    found.username = '';
    found.password = '';
    return { url: found.href.replace(/\/+$/, ''), key };
  },
});

function decodeKey(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
