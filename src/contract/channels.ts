import Type from 'typebox';
import { PLAIN_TEXT_PATTERN } from './account-fields.ts';
import { endpoint } from './endpoint.ts';
import { Kind, ModelId, VENDORS } from './model-kinds.ts';
import { Price } from './pricing.ts';
import { Done, IdParam, ListOf, Ok, PageQuery, SortBy } from './responses.ts';

/** Protocols of chat upstreams: OpenAI's, which most other vendors also support, Anthropic's and Google's. */
export const CHAT_VENDORS = ['openai', 'anthropic', 'gemini'] as const;
/** Protocol of a chat upstream. */
export type ChatVendor = (typeof CHAT_VENDORS)[number];

/** Vendor of a channel: a video vendor, or any upstream that speaks one of the chat protocols. */
export const CHANNEL_VENDORS = [...VENDORS, ...CHAT_VENDORS] as const;

export const Vendor = Type.Enum([...CHANNEL_VENDORS]);
const Flag = Type.Optional(Type.Union([Type.Literal('true'), Type.Literal('false')]));

const fields = {
  name: Type.String({ minLength: 1, maxLength: 100, pattern: PLAIN_TEXT_PATTERN }),
  base_url: Type.String({
    maxLength: 300,
    description:
      "Empty or left out: the vendor's own. May have a path: one that ends in a version (`v1`, `v4`, `v1beta`) is complete, below any other the API's own version is added; the endpoint of a pasted example is cut. Private and loopback ones need options.private.",
  }),
  credentials: Type.Record(Type.String({ maxLength: 64 }), Type.Unknown(), {
    maxProperties: 20,
    description:
      "The vendor's own keys: {access_key, secret_key}, {api_key}, or {service_account, project, location}. Replaces all credentials of the channel.",
  }),
  credential_list: Type.Array(
    Type.Object({
      id: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: Number.MAX_SAFE_INTEGER,
          description: 'One the channel has; left out: a new one.',
        }),
      ),
      name: Type.Optional(
        Type.String({ maxLength: 100, pattern: PLAIN_TEXT_PATTERN, description: 'Your own word for it.' }),
      ),
      credentials: Type.Optional(
        Type.Record(Type.String({ maxLength: 64 }), Type.Unknown(), {
          maxProperties: 20,
          description: 'Required for a new one; left out, the stored keys stay.',
        }),
      ),
      enabled: Type.Optional(
        Type.Boolean({ description: 'A disabled one gets no new work, and polls the tasks it has.' }),
      ),
    }),
    {
      minItems: 1,
      maxItems: 500,
      description:
        'All credentials of the channel, in place of `credentials`: calls are shared among them, and one that fails rests alone. What the list leaves out is removed, which is refused while unfinished tasks use it.',
    },
  ),
  models: Type.Array(ModelId, { maxItems: 500, description: 'Public names; rows of them may be made later.' }),
  priority: Type.Integer({ minimum: -1_000_000, maximum: 1_000_000, description: 'A larger one is asked first.' }),
  weight: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    description: 'Share among channels of one priority; 0 comes last.',
  }),
  enabled: Type.Boolean(),
  max_concurrent_tasks: Type.Union([Type.Integer({ minimum: 1, maximum: 1_000_000 }), Type.Null()], {
    description:
      'Videos in progress at once with each credential; further ones wait. null: any number. `options.max_concurrent_tasks` means the same.',
  }),
  options: Type.Record(Type.String({ maxLength: 64 }), Type.Unknown(), {
    maxProperties: 50,
    description:
      '`private: true` opens private addresses for this channel; `responses: false` says that an OpenAI upstream has chat completions but no Responses; `api: "azure"` and `api_version` select Azure OpenAI behind any host; the rest is for its adapter.',
  }),
};

const connectionFields = {
  model_mapping: Type.Record(ModelId, ModelId, {
    maxProperties: 500,
    description:
      "The upstream's names of models, by the public name or the target of an alias; others keep their name.",
  }),
  extra_headers: Type.Record(
    Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$" }),
    Type.String({ maxLength: 2_000, pattern: '^[\\x20-\\x7e]*$' }),
    {
      maxProperties: 30,
      additionalProperties: false,
      description: 'Sent with every request to the upstream; never shown again. A change replaces all of them.',
    },
  ),
  proxy: Type.String({
    maxLength: 500,
    description:
      'http:// or https:// proxy for all requests to the upstream; empty: none. A private one needs options.private.',
  }),
};

const HealthState = Type.Union([Type.Literal('healthy'), Type.Literal('resting'), Type.Literal('trying')]);

/**
 * Condition of a channel, derived from its calls. `untested`: no call yet; `failing`: the latest call to the channel or
 * to one of its models failed; `resting`: circuit open; `trying`: circuit half open.
 */
export const CHANNEL_CONDITIONS = ['untested', 'working', 'failing', 'resting', 'trying'] as const;
/** Condition of a channel, derived from its calls. */
export type ChannelCondition = (typeof CHANNEL_CONDITIONS)[number];

const row = {
  id: Type.Integer(),
  name: Type.String(),
  vendor: Type.String(),
  base_url: Type.String(),
  model_mapping: Type.Record(Type.String(), Type.String()),
  extra_header_names: Type.Array(Type.String(), { description: 'Their values are never shown.' }),
  proxy: Type.String({ description: 'Without its credentials; empty: none.' }),
  credential_keys: Type.Array(Type.String(), {
    description: 'Names of the keys on file, of the first credential; their values are never shown.',
  }),
  credential_list: Type.Array(
    Type.Object({
      id: Type.Integer(),
      name: Type.String(),
      hint: Type.String({ description: 'The end of a long key, or the e-mail address of a service account.' }),
      keys: Type.Array(Type.String()),
      enabled: Type.Boolean(),
      state: HealthState,
      condition: Type.Enum([...CHANNEL_CONDITIONS]),
      reason: Type.String({ description: 'Why it rests; empty where it does not.' }),
      rests_until: Type.Integer(),
      unfinished_tasks: Type.Integer(),
    }),
    { description: 'Health as the process that answers has learned it.' },
  ),
  models: Type.Array(Type.String()),
  unserved_models: Type.Array(Type.String(), { description: 'Names without an enabled row of this vendor.' }),
  priority: Type.Integer(),
  weight: Type.Integer(),
  enabled: Type.Boolean(),
  max_concurrent_tasks: Type.Union([Type.Integer(), Type.Null()]),
  options: Type.Record(Type.String(), Type.Unknown()),
  state: HealthState,
  condition: Type.Enum([...CHANNEL_CONDITIONS], { description: 'As the process that answers has learned it.' }),
  unfinished_tasks: Type.Integer(),
  created_time: Type.Integer(),
  updated_time: Type.Integer(),
};
export const ChannelRow = Type.Object(row);
export const ChannelDetail = Type.Object({
  ...row,
  health: Type.Array(
    Type.Object({
      model: Type.String({ description: 'Empty: the channel as a whole.' }),
      state: HealthState,
      reason: Type.String(),
      failure_rate: Type.Number(),
      rests_until: Type.Integer(),
    }),
    { description: 'Of its best credential, as the process that answers has learned it.' },
  ),
  last_errors: Type.Array(
    Type.Object({
      credential_id: Type.Integer(),
      model: Type.String(),
      reason: Type.String(),
      code: Type.String(),
      message: Type.String(),
      time: Type.Integer(),
    }),
    { description: 'Newest first, of all processes.' },
  ),
});
export const ProbeResult = Type.Object({
  ok: Type.Boolean(),
  duration_ms: Type.Integer(),
  reason: Type.String({ description: 'Empty when it works.' }),
  code: Type.String(),
  message: Type.String(),
  models: Type.Array(Type.String(), { description: 'What the upstream lists, where it was asked; at most 200.' }),
  missing_models: Type.Array(Type.String(), {
    description:
      "Names of this channel's models that the upstream's own list does not have; empty where it has no list.",
  }),
  ending_models: Type.Array(
    Type.Object({
      model: Type.String(),
      retires_on: Type.String({ description: 'ISO date.' }),
      successor: Type.Union([Type.String(), Type.Null()]),
      confirmed: Type.Boolean({ description: 'Whether the vendor itself says so.' }),
    }),
    { description: 'Models of this channel that are known to end, or have ended, on its host.' },
  ),
  suggested_models: Type.Array(
    Type.Object({
      id: Type.String(),
      kind: Kind,
      price: Type.Union([Price], { description: 'The price of its row, or the price a row of it would start with.' }),
      source: Type.Enum(['shipped', 'suggested'], {
        description:
          '`shipped`: the price of a row that exists, or of the list this release has; `suggested`: an estimate by its name, to be checked.',
      }),
    }),
    {
      description:
        'Models the upstream lists that this channel does not serve yet; POST their ids to /api/admin/channels/{id}/models to add them.',
    },
  ),
});

const Localized = Type.Object({ en: Type.String(), 'zh-CN': Type.String() });

export const ChannelPreset = Type.Object({
  id: Type.String(),
  title: Type.String(),
  title_zh: Type.String(),
  dialect: Type.Enum([...CHAT_VENDORS], { description: '`vendor` of a channel.' }),
  base_url: Type.String({ description: 'What is in braces is replaced by your own names.' }),
  key_page: Type.String({ description: 'Where the vendor issues keys; empty: it needs none.' }),
  model_list: Type.String({ description: 'The URL a test reads the models from.' }),
  options: Type.Record(Type.String(), Type.Unknown(), { description: '`options` of a channel.' }),
  deviations: Type.Array(Localized, { description: 'What differs from the protocol, or needs to be known.' }),
});

const admin = { tag: 'channels', policy: 'admin', envelope: 'api' } as const;
const one = { ...admin, path: '/api/admin/channels/:id', params: IdParam } as const;

export const CHANNEL_SORTS = ['name', 'vendor', 'priority', 'enabled'] as const;

export const listChannels = endpoint({
  ...admin,
  method: 'GET',
  path: '/api/admin/channels',
  summary: 'All channels',
  query: Type.Object({
    ...PageQuery,
    sort: SortBy(CHANNEL_SORTS, 'Default: the newest first.'),
    vendor: Type.Optional(Vendor),
    model: Type.Optional(Type.String({ maxLength: 200 })),
    enabled: Flag,
  }),
  response: ListOf(ChannelRow),
});

export const makeChannel = endpoint({
  ...admin,
  method: 'POST',
  path: '/api/admin/channels',
  summary: 'Add a channel',
  body: Type.Object({
    name: fields.name,
    vendor: Vendor,
    credentials: Type.Optional(fields.credentials),
    credential_list: Type.Optional(fields.credential_list),
    models: fields.models,
    base_url: Type.Optional(fields.base_url),
    priority: Type.Optional(fields.priority),
    weight: Type.Optional(fields.weight),
    enabled: Type.Optional(fields.enabled),
    max_concurrent_tasks: Type.Optional(fields.max_concurrent_tasks),
    options: Type.Optional(fields.options),
    model_mapping: Type.Optional(connectionFields.model_mapping),
    extra_headers: Type.Optional(connectionFields.extra_headers),
    proxy: Type.Optional(connectionFields.proxy),
  }),
  response: Ok(Type.Object({ id: Type.Integer() })),
});

export const getChannel = endpoint({
  ...one,
  method: 'GET',
  summary: 'One channel with its health, last errors and unfinished tasks',
  response: Ok(ChannelDetail),
});

export const changeChannel = endpoint({
  ...one,
  method: 'PUT',
  summary: 'Change a channel; only the named keys change',
  body: Type.Partial(Type.Object({ ...fields, ...connectionFields, vendor: Vendor })),
  response: Done,
});

export const removeChannel = endpoint({
  ...one,
  method: 'DELETE',
  summary: 'Delete a channel that has no unfinished tasks',
  response: Done,
});

export const addChannelModels = endpoint({
  ...admin,
  method: 'POST',
  path: '/api/admin/channels/:id/models',
  params: IdParam,
  summary: 'Let a channel serve models; those without a catalogue entry get one with the shipped or a suggested price',
  body: Type.Object({ ids: Type.Array(ModelId, { minItems: 1, maxItems: 500 }) }),
  response: Ok(
    Type.Object({
      created: Type.Array(Type.String(), { description: 'Models that had no row.' }),
      kept: Type.Array(Type.String(), { description: 'Models that had one; nothing about it changed.' }),
    }),
  ),
});

export const listChannelPresets = endpoint({
  ...admin,
  method: 'GET',
  path: '/api/admin/channel-presets',
  summary: 'Known services: what to enter for a channel to each of them',
  response: Ok(Type.Array(ChannelPreset)),
});

export const testChannel = endpoint({
  ...admin,
  method: 'POST',
  path: '/api/admin/channels/:id/test',
  params: IdParam,
  summary: 'Check a credential with the upstream',
  query: Type.Object({
    credential_id: Type.Optional(
      Type.String({ pattern: '^[1-9][0-9]{0,8}$', description: 'Left out: the first that is enabled.' }),
    ),
  }),
  response: Ok(ProbeResult),
});
