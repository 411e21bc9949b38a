import type { makeChannel } from '../../../../contract/channels.ts';
import type { EndpointPart } from '../../../../contract/endpoint.ts';
import type { ChannelDetail } from '../../../data/admin.ts';
import { readNumberInput } from '../../../data/field-values.ts';
import type { ChannelPreset, CredentialScheme, Vendor } from '../../../data/vendors.ts';
import { parseCredentialLines, toCredentials } from './credential-values.ts';

type ChannelBody = EndpointPart<typeof makeChannel, 'body'>;

/** A channel as its form holds it. Credentials are entered anew each time: the server never returns them. */
export interface ChannelFormValues extends UpstreamRequestFormValues {
  readonly name: string;
  /** Which of the vendor's credential schemes is filled in; an index. */
  readonly scheme: number;
  readonly credentials: Readonly<Record<string, string>>;
  /** Further ones of a new channel, one per line. */
  readonly moreCredentials: string;
  readonly baseUrl: string;
  readonly models: readonly string[];
  readonly priority: number | string;
  readonly weight: number | string;
  /** Empty: any number. */
  readonly maxConcurrentTasks: number | string;
  readonly enabled: boolean;
  readonly options: Readonly<Record<string, unknown>>;
}

/** @param preset the provider that was chosen, with its name in the language of the console */
export const newChannelFormValues = (
  vendor: Vendor,
  preset?: Pick<ChannelPreset, 'base_url' | 'key_page' | 'options'> & { readonly name: string },
): ChannelFormValues => ({
  name: preset?.name ?? vendor.title,
  scheme: 0,
  // A server that needs no key takes any, and a channel has to have one.
  credentials: preset?.key_page === '' ? { api_key: 'none' } : {},
  moreCredentials: '',
  baseUrl: preset?.base_url ?? '',
  models: [],
  priority: 0,
  weight: 1,
  maxConcurrentTasks: '',
  enabled: true,
  options: preset?.options ?? {},
  ...newUpstreamRequestFormValues(),
});

export function toChannelFormValues(channel: ChannelDetail, vendor: Vendor): ChannelFormValues {
  const scheme = vendor.credentials.findIndex(({ fields }) =>
    channel.credential_keys.every((key) => fields.some(({ name }) => name === key)),
  );
  return {
    name: channel.name,
    scheme: Math.max(0, scheme),
    credentials: {},
    moreCredentials: '',
    baseUrl: channel.base_url === vendor.base_url ? '' : channel.base_url,
    models: channel.models,
    priority: channel.priority,
    weight: channel.weight,
    maxConcurrentTasks: toNumberInput(channel.options.max_concurrent_tasks),
    enabled: channel.enabled,
    options: channel.options,
    ...toUpstreamRequestFormValues(channel),
  };
}

export const credentialSchemeOf = (draft: ChannelFormValues, vendor: Vendor): CredentialScheme =>
  vendor.credentials[draft.scheme] ?? vendor.credentials[0] ?? { fields: [] };

/** Whether no credentials were entered, so that the stored ones stay. */
export const keepsStoredCredentials = (draft: ChannelFormValues, vendor: Vendor): boolean =>
  credentialSchemeOf(draft, vendor).fields.every(({ name }) => (draft.credentials[name] ?? '').trim() === '');

/** @throws SyntaxError where a pasted object is not valid JSON; CredentialLineError where a line has too few fields */
export function toChannelBody(draft: ChannelFormValues, vendor: Vendor): ChannelBody {
  const scheme = credentialSchemeOf(draft, vendor);
  const credentials = toCredentials(scheme, draft.credentials);
  const more = parseCredentialLines(draft.moreCredentials, scheme).filter(
    (each) => JSON.stringify(each) !== JSON.stringify(credentials),
  );
  return {
    ...toSettingsBody(draft),
    vendor: vendor.name as ChannelBody['vendor'],
    ...(more.length === 0
      ? { credentials }
      : { credential_list: [credentials, ...more].map((each) => ({ credentials: each })) }),
  };
}

export const toSettingsBody = (draft: ChannelFormValues) => ({
  name: draft.name.trim(),
  base_url: draft.baseUrl.trim(),
  models: [...draft.models],
  priority: Number(draft.priority),
  weight: Number(draft.weight),
  enabled: draft.enabled,
  // JSON leaves out what is undefined, which removes the option.
  options: { ...draft.options, max_concurrent_tasks: readNumberInput(draft.maxConcurrentTasks) },
  ...toUpstreamRequestBody(draft),
});

const toNumberInput = (stored: unknown): number | '' => (typeof stored === 'number' ? stored : '');

/** How a channel's upstream is reached, as the form holds it: one `name: value` or `our name = its name` a line. */
interface UpstreamRequestFormValues {
  readonly modelMapping: string;
  readonly extraHeaders: string;
  readonly proxy: string;
  /** The proxy as it was shown, without its credentials; while it is unchanged, the stored one stays. */
  readonly shownProxy: string;
}

export const newUpstreamRequestFormValues = (): UpstreamRequestFormValues => ({
  modelMapping: '',
  extraHeaders: '',
  proxy: '',
  shownProxy: '',
});

const toUpstreamRequestFormValues = ({ model_mapping, proxy }: ChannelDetail): UpstreamRequestFormValues => ({
  modelMapping: Object.entries(model_mapping)
    .map((pair) => pair.join(' = '))
    .join('\n'),
  extraHeaders: '',
  proxy,
  shownProxy: proxy,
});

/** Headers that are left empty and a proxy that is left as it is stay as they are stored. */
export function toUpstreamRequestBody({ modelMapping, extraHeaders, proxy, shownProxy }: UpstreamRequestFormValues) {
  return {
    model_mapping: parsePairs(modelMapping, '='),
    ...(extraHeaders.trim() === '' ? {} : { extra_headers: parsePairs(extraHeaders, ':') }),
    ...(proxy.trim() === shownProxy ? {} : { proxy: proxy.trim() }),
  };
}

/** One pair a line, divided at the first separator; a line without one has an empty value, which the service refuses by name. */
function parsePairs(text: string, separator: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const [name = '', ...rest] = line.split(separator);
      return [name.trim(), rest.join(separator).trim()];
    }),
  );
}
