import type { makeChannel } from '../../../../contract/channels.ts';
import type { EndpointPart } from '../../../../contract/endpoint.ts';
import type { ChannelDetail } from '../../../data/admin.ts';
import { readNumberInput } from '../../../data/field-values.ts';
import type { ChannelPreset, CredentialScheme, Vendor } from '../../../data/vendors.ts';
import { parseCredentialLines, toCredentials } from './credential-values.ts';

type ChannelBody = EndpointPart<typeof makeChannel, 'body'>;

/** Form values of a channel. Credentials start empty, because the server never returns them. */
export interface ChannelFormValues extends UpstreamRequestFormValues {
  readonly name: string;
  /** Index of the vendor's credential scheme that is filled in. */
  readonly scheme: number;
  readonly credentials: Readonly<Record<string, string>>;
  /** Further credentials of a new channel, one per line. */
  readonly moreCredentials: string;
  readonly baseUrl: string;
  readonly models: readonly string[];
  readonly priority: number | string;
  readonly weight: number | string;
  /** Empty: unlimited. */
  readonly maxConcurrentTasks: number | string;
  readonly enabled: boolean;
  readonly options: Readonly<Record<string, unknown>>;
}

/**
 * Initial values of a new channel. @param preset the selected provider, with its name in the language of the console
 */
export const newChannelFormValues = (
  vendor: Vendor,
  preset?: Pick<ChannelPreset, 'base_url' | 'key_page' | 'options'> & { readonly name: string },
): ChannelFormValues => ({
  name: preset?.name ?? vendor.title,
  scheme: 0,
  // A channel must have a credential; a server without authentication accepts any.
  credentials: preset?.key_page === '' ? { api_key: 'none' } : {},
  moreCredentials: '',
  baseUrl: preset?.base_url ?? '',
  models: [],
  priority: 0,
  weight: 1,
  maxConcurrentTasks: '',
  enabled: true,
  options: preset?.options ?? {},
  ...newRequestFormValues(),
});

/** Form values of an existing channel. */
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

/** The credential scheme selected in the form. */
export const credentialSchemeOf = (draft: ChannelFormValues, vendor: Vendor): CredentialScheme =>
  vendor.credentials[draft.scheme] ?? vendor.credentials[0] ?? { fields: [] };

/** Whether the credential fields are empty, so that the stored credentials are kept. */
export const keepsStoredCredentials = (draft: ChannelFormValues, vendor: Vendor): boolean =>
  credentialSchemeOf(draft, vendor).fields.every(({ name }) => (draft.credentials[name] ?? '').trim() === '');

/**
 * Converts form values to a request body.
 *
 * @throws SyntaxError if a pasted object is not valid JSON; CredentialLineError if a line has too few fields
 */
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

/** The settings of a channel that need no credentials. */
export const toSettingsBody = (draft: ChannelFormValues) => ({
  name: draft.name.trim(),
  base_url: draft.baseUrl.trim(),
  models: [...draft.models],
  priority: Number(draft.priority),
  weight: Number(draft.weight),
  enabled: draft.enabled,
  // JSON omits undefined values, which removes the option.
  options: { ...draft.options, max_concurrent_tasks: readNumberInput(draft.maxConcurrentTasks) },
  ...toUpstreamRequestBody(draft),
});

const toNumberInput = (stored: unknown): number | '' => (typeof stored === 'number' ? stored : '');

/** Form values for requests to the upstream, with one `name: value` or `our name = its name` per line. */
interface UpstreamRequestFormValues {
  readonly modelMapping: string;
  readonly extraHeaders: string;
  readonly proxy: string;
  /** The proxy as displayed, without credentials; an unchanged value keeps the stored proxy. */
  readonly shownProxy: string;
}

/** Empty form values for requests to the upstream. */
export const newRequestFormValues = (): UpstreamRequestFormValues => ({
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

/**
 * Converts the upstream request fields to a body; empty header values and an unchanged proxy keep their stored values.
 */
export function toUpstreamRequestBody({ modelMapping, extraHeaders, proxy, shownProxy }: UpstreamRequestFormValues) {
  return {
    model_mapping: parsePairs(modelMapping, '='),
    ...(extraHeaders.trim() === '' ? {} : { extra_headers: parsePairs(extraHeaders, ':') }),
    ...(proxy.trim() === shownProxy ? {} : { proxy: proxy.trim() }),
  };
}

/**
 * Parses one pair per line, split at the first separator; a line without separator gets an empty value, which the
 * service rejects by name.
 */
function parsePairs(text: string, separator: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const [name = '', ...rest] = line.split(separator);
      return [name.trim(), rest.join(separator).trim()];
    }),
  );
}
