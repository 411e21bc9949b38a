import type { ChannelVendor } from '../../channels/directory.ts';
import type { ProgramName } from '../source/detect-program.ts';
import type { SourceRow } from '../source/source-database.ts';
import { type ChannelKey, keysOf, toCredentials } from './channel-keys.ts';
import { type ChannelType, channelTypeOf, PLUGIN_VENDORS } from './channel-types.ts';
import { objectOf, parseObject, smallIntegerOf, splitList, textOf, toPlainText } from './column-values.ts';
import { mapped, type Outcome, skipped } from './outcome.ts';
import { resolveModelMappingChains } from './resolve-model-mapping-chains.ts';

/** A channel as it is to be made: a row of the source becomes one for each of its vendors. */
export interface ImportedChannel {
  readonly sourceId: number;
  readonly name: string;
  readonly vendor: ChannelVendor;
  /** Empty: the vendor's own. */
  readonly baseUrl: string;
  /** At least one, none of them twice. */
  readonly credentials: readonly ImportedCredential[];
  readonly models: readonly string[];
  readonly priority: number;
  readonly weight: number;
  readonly isEnabled: boolean;
  readonly modelMapping: Readonly<Record<string, string>>;
  readonly extraHeaders: Readonly<Record<string, string>> | undefined;
  readonly proxy: string | undefined;
}

export interface ImportedCredential {
  readonly values: Readonly<Record<string, unknown>>;
  readonly enabled: boolean;
}

/** Whether the service has a vendor of this name. */
export type HasVendor = (name: string) => name is ChannelVendor;

const MODEL_ID = /^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,199}$/;
const MAX_MODELS = 500;
const MAX_CREDENTIALS = 500;
const bounded = (value: number, least: number, most: number): number => Math.min(Math.max(value, least), most);

/** One row of `channels`. The same number of a type means different things in the two programs. */
export function mapChannel(
  row: SourceRow,
  program: ProgramName,
  hasVendor: HasVendor,
): Outcome<readonly ImportedChannel[]> {
  const type = typeOf(row, program);
  if (type === undefined) return skipped(`channels of type ${textOf(row, 'type')} have no counterpart`);
  const remarks: string[] = [];
  const names = splitList(textOf(row, 'models'));
  const models = [...new Set(names)].filter((name) => MODEL_ID.test(name)).slice(0, MAX_MODELS);
  if (models.length < new Set(names).size) remarks.push('models with names that cannot be used here were left out');
  const served = modelsByVendor(models, type, hasVendor);
  if (served.length === 0) return skipped(`${type.title} serves no model here in a protocol that is spoken`);
  const left = models.filter((model) => !served.some(([, own]) => own.includes(model)));
  if (left.length > 0) remarks.push(`not carried over, their protocol is not spoken here: ${left.join(', ')}`);
  const keys = keysOf(row);
  if (keys.length === 0) return skipped('the channel has no key');
  const upstream = upstreamOf(row, remarks);
  if (typeof upstream === 'string') return skipped(upstream);
  const credentials = credentialsOf(keys, type, row, remarks);
  if (credentials.length === 0) return skipped(remarks.at(-1) ?? 'no key of it can be used');
  const channels = served.map(([vendor, own]) => ({
    ...upstream,
    ...settingsOf(row, type),
    name: nameOf(row, type, served.length > 1 ? vendor : ''),
    vendor,
    credentials,
    models: own,
  }));
  if (keys.length > 1) remarks.push(`its ${keys.length} keys are credentials of one channel, each with its own health`);
  noteDifferences(row, remarks);
  return mapped(channels, [...new Set(remarks)]);
}

function typeOf(row: SourceRow, program: ProgramName): ChannelType | undefined {
  const plugin = objectOf(row, 'setting')?.task_plugin_key;
  const type = smallIntegerOf(row, 'type');
  if (program === 'new-api' && type === 61) return PLUGIN_VENDORS[String(plugin)];
  return channelTypeOf(program, type);
}

function modelsByVendor(
  models: readonly string[],
  { chat, video }: ChannelType,
  hasVendor: HasVendor,
): [ChannelVendor, string[]][] {
  const videos = video === undefined ? [] : models.filter((model) => video.models.test(model));
  const rest = models.filter((model) => !videos.includes(model));
  const served: [ChannelVendor, string[]][] = [];
  if (video !== undefined && videos.length > 0) served.push([video.vendor, videos]);
  if (chat !== undefined && rest.length > 0 && hasVendor(chat)) served.push([chat, rest]);
  return served;
}

/** Those of its keys that have the form its type needs, each once. */
function credentialsOf(
  keys: readonly ChannelKey[],
  type: ChannelType,
  row: SourceRow,
  remarks: string[],
): ImportedCredential[] {
  const found = new Map<string, ImportedCredential>();
  for (const [index, key] of keys.entries()) {
    const values = toCredentials(key.text, type, row);
    if (values === undefined) remarks.push(`key ${index + 1} does not have the form that ${type.title} needs`);
    else if (found.size === MAX_CREDENTIALS) remarks.push(`only ${MAX_CREDENTIALS} keys of it fit into one channel`);
    else if (found.has(JSON.stringify(values))) remarks.push(`key ${index + 1} is there twice`);
    else found.set(JSON.stringify(values), { values, enabled: key.isEnabled });
  }
  return [...found.values()];
}

const nameOf = (row: SourceRow, type: ChannelType, vendor: string): string => {
  const name = toPlainText(textOf(row, 'name'), 80) || type.title;
  return [name, vendor].filter((part) => part !== '').join(' ');
};

function settingsOf(row: SourceRow, type: ChannelType) {
  return {
    sourceId: smallIntegerOf(row, 'id'),
    baseUrl: textOf(row, 'base_url').replace(/\/+$/, '') || (type.baseUrl ?? ''),
    priority: bounded(smallIntegerOf(row, 'priority'), -1_000_000, 1_000_000),
    // A weight of 0 still has a share there; here it comes last.
    weight: bounded(smallIntegerOf(row, 'weight'), 1, 1_000_000),
    isEnabled: smallIntegerOf(row, 'status', 1) === 1,
  };
}

/** Mapping, headers and proxy; a text: why the channel cannot be used without them. */
function upstreamOf(
  row: SourceRow,
  remarks: string[],
): Pick<ImportedChannel, 'modelMapping' | 'extraHeaders' | 'proxy'> | string {
  const { mapping, circular } = resolveModelMappingChains(textOf(row, 'model_mapping'));
  if (circular.length > 0) return `its model mapping goes in a circle: ${circular.join(', ')}`;
  const usable = Object.entries(mapping).filter(([from, to]) => MODEL_ID.test(from) && MODEL_ID.test(to));
  if (usable.length < Object.keys(mapping).length)
    remarks.push('part of its model mapping has names that cannot be used here');
  const proxy = objectOf(row, 'setting')?.proxy;
  const headers = Object.entries(parseObject(textOf(row, 'header_override')) ?? {});
  if (headers.some(([, value]) => typeof value !== 'string' || value.includes('{')))
    return 'its extra headers have placeholders, which have no counterpart';
  return {
    modelMapping: Object.fromEntries(usable),
    extraHeaders: headers.length === 0 ? undefined : (Object.fromEntries(headers) as Record<string, string>),
    proxy: typeof proxy === 'string' && proxy !== '' ? proxy : undefined,
  };
}

const WITHOUT_COUNTERPART = [
  ['param_override', 'changes to the request body'],
  ['status_code_mapping', 'the mapping of status codes'],
  ['system_prompt', 'the system prompt of the channel'],
] as const;

function noteDifferences(row: SourceRow, remarks: string[]): void {
  for (const [column, what] of WITHOUT_COUNTERPART)
    if (!['', '{}', 'null'].includes(textOf(row, column))) remarks.push(`not carried over: ${what}`);
  const { system_prompt: prompt, thinking_to_content: thinking, force_format: force } = objectOf(row, 'setting') ?? {};
  if (typeof prompt === 'string' && prompt !== '') remarks.push('not carried over: the system prompt of the channel');
  if (thinking === true || force === true) remarks.push('not carried over: the conversion of its answers');
}
