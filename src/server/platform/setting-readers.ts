/** An invalid setting; the message is the single line printed before the process ends. */
export class ConfigError extends Error {
  readonly problem: string;
  constructor(setting: string, problem: string) {
    super(`${setting}: ${problem}`);
    this.name = 'ConfigError';
    this.problem = problem;
  }
}

/** Documentation of a setting. */
export interface SettingDescription {
  /** Text used when the environment has none; undefined: optional, or required only in some cases. */
  readonly default?: string;
  readonly description: string;
  /** Whether the value is masked in every output. */
  readonly secret?: boolean;
  /** Minimum and maximum of a number. */
  readonly range?: readonly [least: number, most: number];
  /** The permitted values, if there are few. */
  readonly choices?: readonly string[];
}

/** One setting: its documentation and the reader that checks and types it. */
export interface Setting<T = unknown> extends SettingDescription {
  /**
   * @param text the trimmed text of the environment or the default; undefined if there is neither
   * @throws ConfigError
   */
  readonly read: (text: string | undefined, name: string) => T;
  /** For a secret setting of several fields: shown without its secrets, edited without entering them again. */
  readonly redaction?: {
    show(value: T): string;
    /** The text to store for an edited text that lacks secrets of the stored value. */
    restore(text: string, stored: T): string;
  };
}

type WithDefault = SettingDescription & { readonly default: string };

const required = (text: string | undefined, name: string): string => {
  if (text === undefined) throw new ConfigError(name, 'is required');
  return text;
};

/** A text. */
export const text = (about: WithDefault): Setting<string> => ({ ...about, read: required });

/** A text, or none. */
export const optionalText = (about: SettingDescription): Setting<string | undefined> => ({
  ...about,
  read: (value) => value,
});

/** A text that matches a pattern, or none; `problem` states the expected form. */
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

/** `a=1,b=2` with percent-encoded values, the format of OpenTelemetry's variables; none if empty. */
export const optionalPairs = (about: SettingDescription): Setting<Readonly<Record<string, string>>> => ({
  ...about,
  read(value = '', name) {
    const pairs = value.split(',').filter((pair) => pair.includes('='));
    return Object.fromEntries(
      pairs.map((pair) => {
        const at = pair.indexOf('=');
        const decoded = percentDecode(pair.slice(at + 1).trim());
        if (decoded === undefined)
          throw new ConfigError(name, 'has a value that is not percent-encoded correctly: a percent sign is %25');
        return [pair.slice(0, at).trim(), decoded];
      }),
    );
  },
});

/** A text that matches a pattern; `problem` states the expected form. */
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

/** A whole number within a range. */
export const integer = (least: number, most: number, about: WithDefault): Setting<number> => ({
  ...about,
  range: [least, most],
  read: (value, name) => toInteger(required(value, name), name, least, most),
});

/** A whole number within a range, or none. */
export const optionalInteger = (
  least: number,
  most: number,
  about: SettingDescription,
): Setting<number | undefined> => ({
  ...about,
  range: [least, most],
  read: (value, name) => (value === undefined ? undefined : toInteger(value, name, least, most)),
});

/** A boolean. */
export const flag = (about: WithDefault): Setting<boolean> => ({
  ...about,
  choices: ['0', '1'],
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

/** One of a list of values. */
export const oneOf = <const T extends string>(values: readonly T[], about: WithDefault): Setting<T> => ({
  ...about,
  choices: values,
  read: (value, name) => toOneOf(required(value, name), name, values),
});

/** One of a list of values, or none. */
export const optionalOneOf = <const T extends string>(
  values: readonly T[],
  about: SettingDescription,
): Setting<T | undefined> => ({
  ...about,
  read: (value, name) => (value === undefined ? undefined : toOneOf(value, name, values)),
});

/** Splits a text at commas and trims the entries. */
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

/**
 * Why the password of a service's URL would be taken for its end: a `#`, `/` or `?` ends the host, so that the first
 * characters of the password would be dialled, and shown in errors. Undefined: nothing is wrong.
 */
export const findUnencodedPassword = (url: string): string | undefined =>
  /^\w+:\/\/[^/?#]*(?:.*#.*@|\/[^?]*@|\?[^=]*@)/s.test(url)
    ? 'has a #, / or ? in its password: write %23, %2F or %3F instead'
    : undefined;

/** A URL without a trailing slash. */
export const url = (protocols: readonly string[], about: SettingDescription): Setting<string | undefined> => ({
  ...about,
  read(value, name) {
    if (value === undefined) return undefined;
    const problem = about.secret === true ? findUnencodedPassword(value) : undefined;
    if (problem !== undefined) throw new ConfigError(name, problem);
    if (!URL.canParse(value) || !protocols.includes(new URL(value).protocol))
      throw new ConfigError(name, `must be a URL starting with ${protocols.map((each) => `${each}//`).join(' or ')}`);
    return value.replace(/\/+$/, '');
  },
});

/** URL of an API and the key for it. */
export interface UrlWithKey {
  /** Without the key. */
  readonly url: string;
  readonly key: string;
}

/** An HTTP URL with a key in place of its password. A secret, because it contains the key. */
export const urlWithKey = (about: SettingDescription): Setting<UrlWithKey | undefined> => ({
  ...about,
  secret: true,
  read(value, name) {
    if (value === undefined) return undefined;
    const found = URL.canParse(value) ? new URL(value) : undefined;
    if (found === undefined || !['http:', 'https:'].includes(found.protocol) || found.password === '')
      throw new ConfigError(name, 'must be a URL with the key as its password, such as https://:KEY@mail.example.org');
    const key = percentDecode(found.password);
    if (key === undefined) throw new ConfigError(name, 'has a key that is not percent-encoded correctly');
    found.username = '';
    found.password = '';
    return { url: found.href.replace(/\/+$/, ''), key };
  },
});

function percentDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
