import Type from 'typebox';
import { Vendor } from './channels.ts';
import { endpoint } from './endpoint.ts';
import type { GenerationWay } from './generation-ways.ts';
import { Kind, ModelId } from './model-kinds.ts';
import { Price } from './pricing.ts';
import { Done, ListOf, Ok, PageQuery, SortBy } from './responses.ts';

const Text = Type.String();
const TextOrNull = Type.Union([Type.String(), Type.Null()]);

/** A price in a request; validated against `VideoPrice` or `ChatPrice` depending on the model's kind. */
const PriceBody = Type.Record(Type.String({ maxLength: 64 }), Type.Unknown(), {
  maxProperties: 12,
  description:
    'Video and image: {per_call, per_second, multipliers?}, or {lines: [{when?, per_call?, per_second?, per_input_image?, ' +
    'per_input_second?, per_unit?, max_units?, max_units_per_second?}], multipliers?, settle_by?}. Chat: {input_per_million, output_per_million}, and as needed ' +
    'per_call, cached_input_per_million, cache_write_per_million, cache_write_1h_per_million, audio_input_per_million, ' +
    'image_input_per_million, audio_output_per_million, image_output_per_million, tiers: [{above_input_tokens, …}].',
});
const SchemaBody = Type.Record(Type.String({ maxLength: 200 }), Type.Unknown(), {
  description: 'Media schema: a JSON Schema (draft 2020-12) of the body. `x-upstream` names where an argument goes.',
});
const AliasOf = Type.Union([ModelId, Type.Literal(''), Type.Null()], {
  description: 'The model that serves this one; empty or null: none. One step only.',
});

export const ON_RETIREMENT = ['refuse', 'substitute'] as const;
/** Behaviour of calls to a retired model. */
export type OnRetirement = (typeof ON_RETIREMENT)[number];
const Retiring = Type.Enum([...ON_RETIREMENT], {
  description: 'Once the vendor has ended it: refuse calls, or run them on the successor where that costs no more.',
});

export const ModelRow = Type.Object({
  id: Text,
  vendor: Text,
  kind: Text,
  price: Type.Union([Price, Type.Null()], { description: 'Null: an alias that costs what its target costs.' }),
  alias_of: TextOrNull,
  input_schema: Type.Unknown(),
  on_retirement: Retiring,
  enabled: Type.Boolean(),
  channels: Type.Integer({ description: 'Enabled channels that serve it.' }),
  created_time: Type.Integer(),
  updated_time: Type.Integer(),
});

const admin = { tag: 'models', policy: 'admin', envelope: 'api' } as const;
const one = {
  ...admin,
  path: '/api/admin/models/:id',
  params: Type.Object({
    id: Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'The name; a slash in it may be encoded, plain or written ~.',
    }),
  }),
} as const;
const BODY_LIMIT = 128 * 1024;

export const MODEL_SORTS = ['name', 'kind', 'vendor', 'enabled'] as const;

export const listModelRows = endpoint({
  ...admin,
  method: 'GET',
  path: '/api/admin/models',
  summary: 'All models with their prices',
  query: Type.Object({
    ...PageQuery,
    sort: SortBy(MODEL_SORTS, 'Default: by name.'),
    vendor: Type.Optional(Vendor),
    kind: Type.Optional(Kind),
    q: Type.Optional(Type.String({ maxLength: 200, description: 'part of the name' })),
  }),
  response: ListOf(ModelRow),
});

export const adminCreateModel = endpoint({
  ...admin,
  method: 'POST',
  path: '/api/admin/models',
  summary: 'Add a model or an alias',
  bodyLimit: BODY_LIMIT,
  body: Type.Object({
    id: ModelId,
    vendor: Type.Optional(Vendor),
    kind: Type.Optional(Kind),
    price: Type.Optional(PriceBody),
    alias_of: Type.Optional(AliasOf),
    input_schema: Type.Optional(Type.Union([SchemaBody, Type.Null()])),
    on_retirement: Type.Optional(Retiring),
    enabled: Type.Optional(Type.Boolean()),
  }),
  response: Ok(Type.Object({ id: Type.String() })),
});

export const getModelRow = endpoint({ ...one, method: 'GET', summary: 'One model', response: Ok(ModelRow) });

export const adminUpdateModel = endpoint({
  ...one,
  method: 'PUT',
  summary: 'Change a model; only the named keys change',
  bodyLimit: BODY_LIMIT,
  body: Type.Object({
    id: Type.Optional(ModelId),
    vendor: Type.Optional(Vendor),
    kind: Type.Optional(Kind),
    price: Type.Optional(Type.Union([PriceBody, Type.Null()])),
    alias_of: Type.Optional(AliasOf),
    input_schema: Type.Optional(Type.Union([SchemaBody, Type.Null()])),
    on_retirement: Type.Optional(Retiring),
    enabled: Type.Optional(Type.Boolean()),
  }),
  response: Done,
});

export const adminDeleteModel = endpoint({
  ...one,
  method: 'DELETE',
  summary: 'Delete a model that no channel and no alias names',
  response: Done,
});

/** Capabilities of a model, read from its vendor's adapter; forms are generated from them. */
export const Capability = Type.Object({
  title: Text,
  seconds: Type.Unknown({ description: '{values, default} or {min, max, default}.' }),
  sizes: Type.Array(Text),
  ratios: Type.Array(Text),
  resolutions: Type.Array(Text),
  modes: Type.Array(Text),
  audio: Type.Boolean(),
  negative_prompt: Type.Boolean(),
  seed: Type.Boolean(),
  images: Type.Object(
    { min: Type.Integer(), max: Type.Integer(), roles: Type.Array(Text) },
    { description: 'How many images the model takes, and their roles.' },
  ),
  operations: Type.Array(Text, { description: 'generate, edit, extend; empty for a model of native requests only.' }),
  ways: Type.Unsafe<readonly GenerationWay[]>(
    Type.Array(Type.Record(Type.String(), Type.Unknown()), {
      description: 'Combinations of inputs, with what the model offers for each; a request must fit one of them.',
    }),
  ),
});

export const listUsableModels = endpoint({
  organization: 'member',
  method: 'GET',
  path: '/api/models',
  summary: 'Models this account can call now, with abilities and prices',
  tag: 'models',
  policy: 'account',
  envelope: 'api',
  compressed: true,
  query: Type.Object({ kind: Type.Optional(Kind) }),
  response: Ok(
    Type.Array(
      Type.Object({
        id: Text,
        kind: Text,
        vendor: Text,
        vendor_title: Text,
        price: Price,
        input_schema: Type.Unknown(),
        capability: Type.Union([Capability, Type.Null()]),
        fields: Type.Record(Text, Text, {
          description:
            'Where each field of a form goes in the request, as a dotted path: seconds, size, mode, ratio, resolution, audio, seed, negative_prompt. What the vendor has no field for is missing.',
        }),
        prompt_names: Type.Boolean({ description: 'Whether a prompt may name its inputs: @Image1, @Video1, @Audio1.' }),
        permitted: Type.Boolean({ description: "Whether the account's plan covers it." }),
      }),
    ),
  ),
});

/** Models the token may call, in the list formats of three vendors. */

const Model = Type.Object({
  id: Type.String(),
  object: Type.Literal('model'),
  created: Type.Integer(),
  owned_by: Type.String(),
});

/** docs.claude.com/en/api/models-list; values unknown to this service are null. */
const AnthropicModel = Type.Object({
  type: Type.Literal('model'),
  id: Type.String(),
  display_name: Type.String(),
  created_at: Type.String({ format: 'date-time' }),
  lifecycle: Type.Enum(['active', 'deprecated']),
  deprecated_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  retires_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  capabilities: Type.Null(),
  line: Type.Null(),
  max_input_tokens: Type.Null(),
  max_tokens: Type.Null(),
});
/** A page of models in the form of Anthropic's API. */
export const AnthropicModels = Type.Object({
  data: Type.Array(AnthropicModel),
  first_id: Type.Union([Type.String(), Type.Null()]),
  last_id: Type.Union([Type.String(), Type.Null()]),
  has_more: Type.Boolean(),
});
const Models = Type.Object({ object: Type.Literal('list'), data: Type.Array(Model) });

/** ai.google.dev/api/models */
const GeminiModel = Type.Object({
  name: Type.String(),
  displayName: Type.String(),
  supportedGenerationMethods: Type.Array(Type.String()),
});
const GeminiModels = Type.Object({ models: Type.Array(GeminiModel), nextPageToken: Type.Optional(Type.String()) });
const GeminiPage = {
  pageSize: Type.Optional(Type.String({ description: "Of Google's pages: 1 to 1000, default 50." })),
  pageToken: Type.Optional(Type.String({ maxLength: 1_000 })),
};

export const listModels = endpoint({
  method: 'GET',
  tag: 'models',
  policy: 'model',
  path: '/v1/models',
  summary:
    "Models this key may call; paged in the form of Anthropic's API with the header anthropic-version, in Google's with x-goog-api-key",
  envelope: 'model',
  query: Type.Object({
    limit: Type.Optional(Type.String({ description: "Of Anthropic's pages: 1 to 1000, default 20." })),
    before_id: Type.Optional(Type.String({ maxLength: 200 })),
    after_id: Type.Optional(Type.String({ maxLength: 200 })),
    ...GeminiPage,
  }),
  response: Models,
  documentedResponse: Type.Union([Models, AnthropicModels, GeminiModels]),
});
export const getModel = endpoint({
  method: 'GET',
  tag: 'models',
  policy: 'model',
  path: '/v1/models/:model',
  summary: 'One model this key may call',
  envelope: 'model',
  params: Type.Object({ model: Type.String({ minLength: 1, maxLength: 200 }) }),
  response: Model,
  documentedResponse: Type.Union([Model, AnthropicModel, GeminiModel]),
});

export const listGeminiModels = endpoint({
  method: 'GET',
  policy: 'model',
  envelope: 'gemini',
  tag: 'chat',
  path: '/v1beta/models',
  summary: "Models this key may call, in the form of Google's API",
  query: Type.Object({
    key: Type.Optional(Type.String()),
    ...GeminiPage,
  }),
  response: GeminiModels,
});

export const getGeminiModel = endpoint({
  method: 'GET',
  policy: 'model',
  envelope: 'gemini',
  tag: 'chat',
  path: '/v1beta/models/:model',
  summary: "One model this key may call, in the form of Google's API",
  params: Type.Object({ model: Type.String({ minLength: 1, maxLength: 200 }) }),
  query: Type.Object({ key: Type.Optional(Type.String()) }),
  response: GeminiModel,
});

/** Input type of one key of a vendor's credentials in a form; `json`: an object, pasted or read from a file. */
const CredentialField = Type.Object({
  name: Type.String(),
  kind: Type.Enum(['secret', 'text', 'json']),
});

/** Remaining lifetime of a model on one of the vendor's routes. */
const Lifecycle = Type.Object({
  route: Type.String({ description: "The vendor's host or product this is said of." }),
  stage: Type.Enum(['active', 'deprecated', 'retired']),
  retires_on: Type.Union([Type.String(), Type.Null()], { description: 'ISO date.' }),
  successor: TextOrNull,
  source: Type.String({ description: 'Where this is said.' }),
  confirmed_on: Type.Union([Type.String(), Type.Null()], {
    description: 'ISO date of what was read; null: no page of the vendor confirms it, and nothing is refused by it.',
  }),
  checked_on: Type.String({ description: 'ISO date on which the table was read through.' }),
});

/** The vendor's public price list from which an initial price is taken. */
const PriceSource = Type.Object({
  source: Type.String({ description: "The vendor's page of prices." }),
  confirmed_on: Type.Union([Type.String(), Type.Null()], {
    description: 'ISO date on which it, or a copy or quotation of it, was last compared; null: none was found.',
  }),
  note: Type.String(),
});

const VendorModel = Type.Object({
  id: Type.String(),
  title: Type.String(),
  kind: Kind,
  price: Type.Union([Price], { description: 'The price a row of this model starts with.' }),
  price_source: Type.Union([PriceSource, Type.Null()], { description: 'Null: it follows no list.' }),
  capability: Type.Union([Capability, Type.Null()], { description: 'Null for models that make no videos.' }),
  lifecycle: Type.Array(Lifecycle, { description: 'Empty: nothing is known to end.' }),
});

export const VendorRow = Type.Object({
  name: Type.String(),
  title: Type.String({ description: 'As shown to people.' }),
  kind: Type.Enum(['video', 'chat'], { description: 'What most of its models make.' }),
  base_url: Type.String({ description: 'Used where a channel names none.' }),
  credentials: Type.Array(Type.Object({ fields: Type.Array(CredentialField) }), {
    description: 'One entry for each set of keys that works; a channel has exactly one of them.',
  }),
  models: Type.Array(VendorModel),
});

export const listVendors = endpoint({
  method: 'GET',
  path: '/api/admin/vendors',
  summary: 'All vendors for channels: credentials, base URL, models',
  tag: 'channels',
  policy: 'admin',
  envelope: 'api',
  response: Ok(Type.Array(VendorRow)),
});
