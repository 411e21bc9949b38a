import Type from 'typebox';
import { Vendor } from './channels.ts';
import { endpoint } from './endpoint.ts';
import { SortBy } from './list-sorting.ts';
import { Kind, ModelId } from './model-kinds-and-id.ts';
import { Price } from './pricing.ts';
import { Done, ListOf, Ok, PageQuery } from './success-bodies-and-pagination.ts';

const Text = Type.String();
const TextOrNull = Type.Union([Type.String(), Type.Null()]);

/** A price as it is sent: checked against `VideoPrice` or `ChatPrice` by the model's kind. */
const PriceBody = Type.Record(Type.String({ maxLength: 64 }), Type.Unknown(), {
  maxProperties: 12,
  description:
    'Video and image: {per_call, per_second, multipliers?}, or {lines: [{when?, per_call?, per_second?, per_input_image?, ' +
    'per_unit?, max_units?, max_units_per_second?}], multipliers?, settle_by?}. Chat: {input_per_million, output_per_million}, and as needed ' +
    'per_call, cached_input_per_million, cache_write_per_million, cache_write_1h_per_million, audio_input_per_million, ' +
    'image_input_per_million, audio_output_per_million, tiers: [{above_input_tokens, …}].',
});
const SchemaBody = Type.Record(Type.String({ maxLength: 200 }), Type.Unknown(), {
  description: 'Media schema: a JSON Schema (draft 2020-12) of the body. `x-upstream` names where an argument goes.',
});
const AliasOf = Type.Union([ModelId, Type.Literal(''), Type.Null()], {
  description: 'The model that serves this one; empty or null: none. One step only.',
});

export const ON_RETIREMENT = ['refuse', 'substitute'] as const;
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
    id: Type.String({ minLength: 1, maxLength: 200, description: 'The name; a slash in it is written ~.' }),
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
  summary: 'Remove a model that no channel and no alias names',
  response: Done,
});

/** Capabilities of a model, from its vendor's adapter; forms are generated from it. */
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
  images: Type.Object({ min: Type.Integer(), max: Type.Integer(), roles: Type.Array(Text) }),
});

export const listUsableModels = endpoint({
  method: 'GET',
  path: '/api/models',
  summary: 'Models this account can call now, with what they can do and cost',
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
        permitted: Type.Boolean({ description: "Whether the account's plan covers it." }),
      }),
    ),
  ),
});
