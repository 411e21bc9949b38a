import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject } from '../contract/objects.ts';
import type { CommandContext } from './command-context.ts';
import { configFolder } from './credentials.ts';
import { UsageError } from './errors.ts';

/** Purpose of a default model. */
type DefaultModelKind = 'video' | 'chat';

/** Name of a setting of `reelgate config`. */
export type SettingName = `${DefaultModelKind}-model`;

/** Default models of one service. */
type Settings = Readonly<Partial<Record<SettingName, string>>>;

/** Settings by service URL, because services offer different models. */
interface SettingsFile {
  readonly version: 1;
  readonly services: Readonly<Record<string, Settings>>;
}

const filePath = (): string => join(configFolder(), 'settings.json');

async function loadFile(): Promise<SettingsFile> {
  const empty: SettingsFile = { version: 1, services: {} };
  const text = await readFile(filePath(), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return '{}';
  });
  try {
    const stored: unknown = JSON.parse(text);
    return isObject(stored) && stored.version === 1 && isObject(stored.services)
      ? (stored as unknown as typeof empty)
      : empty;
  } catch {
    throw new UsageError(`${filePath()} is not JSON. Correct it or remove it.`);
  }
}

/** Reads the default models of one service. */
export const readSettings = async (baseUrl: string): Promise<Settings> => (await loadFile()).services[baseUrl] ?? {};

/** Stores a setting, or removes it if the value is undefined. The file is replaced atomically. */
export async function writeSetting(baseUrl: string, name: SettingName, value: string | undefined): Promise<void> {
  const stored = await loadFile();
  const { [name]: _, ...others } = stored.services[baseUrl] ?? {};
  const settings = value === undefined ? others : { ...others, [name]: value };
  await mkdir(configFolder(), { recursive: true, mode: 0o700 });
  const draft = `${filePath()}.${process.pid}`;
  const changed: SettingsFile = { ...stored, services: { ...stored.services, [baseUrl]: settings } };
  await writeFile(draft, `${JSON.stringify(changed, null, 2)}\n`, { mode: 0o600 });
  await rename(draft, filePath());
}

/** The model from the option, or else the default of this service. @throws UsageError if there is neither */
export async function requireModel(
  { baseUrl }: CommandContext,
  kind: DefaultModelKind,
  given: string | undefined,
): Promise<string> {
  const model = given ?? (await readSettings(baseUrl))[`${kind}-model`];
  if (model !== undefined) return model;
  throw new UsageError(
    `Name a model with --model, or set a default: reelgate config set ${kind}-model ID. "reelgate models --kind ${kind}" lists them.`,
  );
}
