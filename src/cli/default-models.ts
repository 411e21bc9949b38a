import { join } from 'node:path';
import { isObject } from '../contract/objects.ts';
import type { CommandContext } from './command-context.ts';
import { readConfigFile, writeConfigFile } from './config-file.ts';
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
  const stored = await readConfigFile(filePath()).catch((error: unknown) => {
    if (error instanceof SyntaxError) throw new UsageError(`${filePath()} is not JSON. Correct it or remove it.`);
    throw error;
  });
  return isObject(stored) && stored.version === 1 && isObject(stored.services)
    ? (stored as unknown as typeof empty)
    : empty;
}

/** Reads the default models of one service. */
export const readSettings = async (baseUrl: string): Promise<Settings> => (await loadFile()).services[baseUrl] ?? {};

/** Stores a setting, or removes it if the value is undefined. One process at a time, so that no other setting is lost. */
export function writeSetting(
  { baseUrl, credentialStore }: Pick<CommandContext, 'baseUrl' | 'credentialStore'>,
  name: SettingName,
  value: string | undefined,
): Promise<void> {
  return credentialStore.runExclusive(async () => {
    const stored = await loadFile();
    const { [name]: _, ...others } = stored.services[baseUrl] ?? {};
    const settings = value === undefined ? others : { ...others, [name]: value };
    const changed: SettingsFile = { ...stored, services: { ...stored.services, [baseUrl]: settings } };
    await writeConfigFile(filePath(), changed);
  });
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
