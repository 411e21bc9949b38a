import type { changeChannel, makeChannel } from '../../../../contract/channels.ts';
import type { EndpointPart } from '../../../../contract/endpoint.ts';
import type { ChannelDetail, ChannelPreset, CredentialScheme, Vendor } from '../../../data/admin.ts';
import { readNumberInput } from '../../../data/field-values.ts';

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

type Credentials = Record<string, string>;

/** A line whose number of fields does not match the vendor's scheme. */
export class CredentialLineError extends Error {
  /** 1-based. */
  readonly line: number;
  constructor(line: number) {
    super(`line ${line}`);
    this.line = line;
  }
}

/** Whether credentials of this scheme can be written one per line. */
export const fitsOnLines = ({ fields }: CredentialScheme): boolean =>
  fields.length > 0 && fields.every(({ kind }) => kind !== 'json');

/**
 * Parses credentials pasted one per line and removes duplicates. Fields are separated by `|`, a comma or spaces, in the
 * order of the form.
 *
 * @throws CredentialLineError
 */
export function parseCredentialLines(text: string, { fields }: CredentialScheme): Credentials[] {
  const found = new Map<string, Credentials>();
  for (const [index, line] of text.split('\n').entries()) {
    const trimmed = line.trim();
    if (trimmed === '') continue;
    const parts = fields.length === 1 ? [trimmed] : trimmed.split(/[|,;\s]+/);
    if (parts.length !== fields.length || /\s/.test(parts.join(''))) throw new CredentialLineError(index + 1);
    const credentials = Object.fromEntries(fields.map(({ name }, place) => [name, parts[place] ?? '']));
    found.set(JSON.stringify(credentials), credentials);
  }
  return [...found.values()];
}

/** A stored credential of a channel, without its keys. */
export type Credential = ChannelDetail['credential_list'][number];
/** Credentials in the body of a channel change. */
export type CredentialListItems = NonNullable<EndpointPart<typeof changeChannel, 'body'>['credential_list']>;

/** The current credentials of a channel, to be sent back when one of them changes. */
export const storedCredentialItems = ({ credential_list: list }: ChannelDetail): CredentialListItems =>
  list.map(({ id }) => ({ id }));

/** Display name of a credential, as on the page of its channel. */
export const credentialLabel = ({ id, name }: Pick<Credential, 'id' | 'name'>): string =>
  name === '' ? `#${id}` : name;

/** Scheme that matches the stored field names; falls back to the vendor's first scheme. */
export const schemeOfKeys = (keys: readonly string[], vendor: Vendor): CredentialScheme =>
  vendor.credentials.find(({ fields }) => keys.every((key) => fields.some(({ name }) => name === key))) ??
  vendor.credentials[0] ?? { fields: [] };

/** Converts the credential fields of a form. @throws SyntaxError if a pasted object is not valid JSON */
export const toCredentials = (
  { fields }: CredentialScheme,
  typed: Readonly<Record<string, string>>,
): Record<string, unknown> =>
  Object.fromEntries(
    fields.map(({ name, kind }) => {
      const text = (typed[name] ?? '').trim();
      return [name, kind === 'json' ? (JSON.parse(text) as unknown) : text];
    }),
  );
